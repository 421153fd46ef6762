// Two lines on each page of the demo: things to try here. Only in the demo.

import { useQuery } from "@tanstack/react-query";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Menu, MenuItem } from "../parts/menu.tsx";
import type { Standing } from "../parts/state-word.tsx";
import { type Texts, useTexts } from "../texts/texts.ts";
import { me, queries } from "../wire/read.ts";
import { request } from "../wire/request.ts";

type Hinted = "inbox" | "threads" | "fork" | "agents" | "permissions";

/** Two lines about the page, or about the present state of a thread. */
export function DemoHint({ page, standing }: { page: Hinted | "thread"; standing?: Standing | undefined }) {
  const t = useTexts();
  const { data } = useQuery(me);
  if (data?.demo === undefined) return null;
  const words = page === "thread" ? hintOf(t.demo.thread, standing) : t.demo[page];
  const viewAs = async (user: string) => {
    await request("/demo/view-as", { body: { user } });
    await queries.invalidateQueries();
  };
  const reset = async () => {
    await request("/demo/reset", { body: {} });
    location.reload();
  };
  return (
    <aside className="hint" aria-label={t.demo.title}>
      <span>
        <Icon name="model" />
      </span>
      <span className="grow min-w-0">
        <strong>{t.demo.title}</strong> {words}
      </span>
      <Menu
        button={
          <Button size="sm" icon="person">
            {t.demo.viewAs(data.user)}
          </Button>
        }
      >
        {data.demo.people.map((person) => (
          <MenuItem key={person} icon="person" onSelect={() => void viewAs(person)}>
            {person}
          </MenuItem>
        ))}
      </Menu>
      <Button className="opt" size="sm" icon="again" onClick={() => void reset()}>
        {t.demo.reset}
      </Button>
    </aside>
  );
}

function hintOf(words: Texts["demo"]["thread"], standing: Standing | undefined): string {
  return standing !== undefined && standing in words ? words[standing as keyof typeof words] : words.other;
}
