// Approvals by digest, the deadline, the words before the request, and the rule that an approval may leave behind.

import type { Json } from "@belay/core";
import { useQuery } from "@tanstack/react-query";
import { useNow } from "../live/use-live.ts";
import { Icon } from "../parts/icon.tsx";
import { JsonLine } from "../parts/json.tsx";
import { Avatar, Pips } from "../parts/people.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { useMe } from "../shell/who.ts";
import { groupBy } from "../story/group-by.ts";
import { textOf } from "../story/story.ts";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import { oneRequest } from "../wire/read.ts";
import type { Ask } from "../wire/shapes.ts";
import { votesFor } from "./ask-words.ts";

/** Approvals, deadline, people, the words before it. */
export function Details({ ask }: { ask: Ask }) {
  const t = useTexts();
  const times = useTimes();
  const now = useNow(10_000);
  const { data } = useQuery(oneRequest(ask.id));
  const who = useMe()?.user;
  const need = ask.quorum ?? 1;
  const counts = groupBy(ask.approvals ?? [], ({ digest }) => digest ?? "");
  const voted = new Set(votesFor(ask.approvals, ask.digest).map(({ by }) => by));
  const left = (ask.approvers ?? [])
    .filter((each) => !voted.has(each))
    .map((each) => (each === who ? t.all.you : each));
  const waits = voted.size > 0 ? t.card.stillWaits(left.join(", ")) : t.card.waitsFor(left.join(", "));
  const words = (data?.messages ?? [])
    .filter(({ role, origin }) => role !== "tool" && role !== "system" && origin !== "runtime")
    .slice(-2);
  return (
    <dl className="facts-list">
      {(need > 1 || counts.size > 0 || ask.approvers !== undefined) && (
        <>
          <dt>{t.card.approvals}</dt>
          <dd className="grid gap-1">
            {counts.size === 0 && need > 1 && (
              <div className="row">
                <Pips have={0} need={need} />
                <span className="medium">{t.card.ofMany(0, need)}</span>
              </div>
            )}
            {[...counts].map(([digest, votes]) => (
              <div key={digest} className="row flex-wrap">
                <Pips have={votes.length} need={need} />
                <span className="medium">{t.card.ofMany(votes.length, need)}</span>
                {votes.map(({ by, at }) => (
                  <span key={by} className="row gap-1">
                    <Avatar name={by} small />
                    <span>
                      {by} {at !== undefined && <span className="faint">{times.clock(at)}</span>}
                    </span>
                  </span>
                ))}
                {digest !== "" && (
                  <span className="faint">
                    {t.card.onDigest} <code>{digest.slice(0, 6)}</code>
                  </span>
                )}
              </div>
            ))}
            {ask.approvers !== undefined && <span className="dim">{waits}</span>}
          </dd>
        </>
      )}
      {ask.expiresAt !== undefined && (
        <>
          <dt>{t.card.deadline}</dt>
          <dd className="row flex-wrap">
            <span className="fg-person row gap-1 medium">
              <Icon name="clock" small />
              {t.card.until(times.clock(ask.expiresAt), times.lasting(Math.max(0, ask.expiresAt - now)))}
            </span>
            <span className="dim">{t.card.onExpire[ask.onExpire ?? "reject"]}</span>
          </dd>
        </>
      )}
      {ask.onNewInput !== undefined && ask.onNewInput !== "withdraw" && (
        <>
          <dt>{t.card.elsewhere}</dt>
          <dd className="dim">{t.card.onNewInput[ask.onNewInput]}</dd>
        </>
      )}
      {words.length > 0 && (
        <>
          <dt>{t.card.context}</dt>
          <dd className="grid gap-1">
            {words.map((message) => (
              <div key={message.id} className="line-clamp-4 wrap-anywhere">
                <span className="medium">
                  {message.role === "assistant" ? ask.by : ((message as { by?: string }).by ?? t.all.person)}
                </span>{" "}
                <span className="dim">
                  <SeenText text={textOf(message).slice(0, 600)} />
                </span>
              </div>
            ))}
          </dd>
        </>
      )}
    </dl>
  );
}

interface RememberProps {
  readonly ask: Ask;
  readonly args: Json | undefined;
  readonly value: "" | "thread" | "always";
  readonly isAdmin: boolean;
  onValue(value: "" | "thread" | "always"): void;
}

export function Remember({ ask, args, value, isAdmin, onValue }: RememberProps) {
  const t = useTexts();
  return (
    <div className="grid gap-1">
      <label className="flex items-start gap-3">
        <input
          type="checkbox"
          className="check mt-0.5"
          checked={value !== ""}
          onChange={(event) => onValue(event.target.checked ? "thread" : "")}
        />
        <span className="medium">{t.card.remember}</span>
      </label>
      {value !== "" && (
        <div className="pl-7 grid gap-2">
          {isAdmin && (
            <select
              className="select w-fit"
              aria-label={t.card.rememberScope}
              value={value}
              onChange={(event) => onValue(event.target.value as "thread" | "always")}
            >
              <option value="thread">{t.card.inThread}</option>
              <option value="always">{t.card.always}</option>
            </select>
          )}
          <div className="small dim">
            {t.card.makesRule}{" "}
            <code className="tag mono !h-auto min-h-5 !py-0.5 mt-1 !whitespace-normal wrap-anywhere">
              <span>
                allow {ask.tool} <JsonLine value={args} /> · {value === "thread" ? t.card.inThread : t.card.always}
              </span>
            </code>
          </div>
        </div>
      )}
    </div>
  );
}
