// Which threads the list shows, as the address says it.

import type { ThreadFilter } from "../wire/read.ts";

export const shows = ["all", "asks", "running", "paused", "failed", "completed", "ended"] as const;
export type Show = (typeof shows)[number];

const filters: Readonly<Record<Show, ThreadFilter>> = {
  all: {},
  asks: { state: "paused", pauseType: "tool_interrupt" },
  running: { state: "running" },
  paused: { state: "paused" },
  failed: { state: "error" },
  completed: { state: "completed" },
  ended: { state: "terminated" },
};

export const pauses = ["user_interrupt", "tool_interrupt", "node_interrupt", "manual", "crash"] as const;

export function filterOf(params: URLSearchParams): { show: Show; filter: ThreadFilter } {
  const given = params.get("show") as Show | null;
  const show = given !== null && shows.includes(given) ? given : "all";
  const of = (name: string) => params.get(name) ?? undefined;
  const [pauseType, agent, label, search] = [of("why"), of("agent"), of("label"), of("q")];
  return {
    show,
    filter: {
      ...filters[show],
      ...(pauseType && { state: "paused", pauseType }),
      ...(agent && { agent }),
      ...(label && { label }),
      ...(search && { search }),
    },
  };
}
