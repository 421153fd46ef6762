// ⌘K: pages, threads by title, and settings. Arrow keys move, Enter goes there.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useState } from "react";
import { useLocation } from "wouter";
import { change } from "../look/settings.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { StateWord, standingOf } from "../parts/state-word.tsx";
import { useTexts } from "../texts/texts.ts";
import { query, request } from "../wire/request.ts";
import type { Page, ThreadRow } from "../wire/shapes.ts";

interface Item {
  readonly id: string;
  readonly icon: IconName;
  readonly words: string;
  readonly row?: ThreadRow;
  run(): void;
}

export function Palette({ onClose }: { onClose(): void }) {
  const t = useTexts();
  const [, go] = useLocation();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [wanted, setWanted] = useState("");
  const listId = useId();
  useEffect(() => {
    const timer = setTimeout(() => setWanted(text.trim()), 120);
    return () => clearTimeout(timer);
  }, [text]);
  const found = useQuery({
    queryKey: ["threads", "palette", wanted],
    queryFn: ({ signal }) =>
      request<Page<ThreadRow>>(`/threads${query({ search: wanted || undefined, limit: 8 })}`, { signal }),
  });
  const to = (path: string) => () => go(path);
  const pages: Item[] = [
    { id: "inbox", icon: "inbox", words: t.nav.inbox, run: to("/inbox") },
    { id: "threads", icon: "threads", words: t.nav.threads, run: to("/threads") },
    { id: "agents", icon: "agent", words: t.nav.agents, run: to("/agents") },
    { id: "permissions", icon: "shield", words: t.nav.permissions, run: to("/permissions") },
    { id: "new", icon: "plus", words: t.threads.start, run: to("/threads?new=1") },
    { id: "light", icon: "theme", words: `${t.nav.theme}: ${t.nav.light}`, run: () => change({ theme: "light" }) },
    { id: "dark", icon: "theme", words: `${t.nav.theme}: ${t.nav.dark}`, run: () => change({ theme: "dark" }) },
    { id: "en", icon: "tag", words: "English", run: () => change({ language: "en" }) },
    { id: "zh", icon: "tag", words: "中文", run: () => change({ language: "zh" }) },
  ];
  const folded = text.trim().toLowerCase();
  const items: readonly Item[] = [
    ...pages.filter(({ words }) => words.toLowerCase().includes(folded)),
    ...(found.data?.items ?? []).map(
      (row): Item => ({
        id: `t-${row.threadId}`,
        icon: "threads",
        words: row.title || row.threadId,
        row,
        run: to(`/threads/${encodeURIComponent(row.threadId)}`),
      }),
    ),
  ];
  const chosen = Math.min(at, items.length - 1);
  const run = (item: Item | undefined) => {
    if (item === undefined) return;
    onClose();
    item.run();
  };
  return (
    <Dialog title={t.nav.search} hidesTitle className="!p-0 !mt-[12vh] !mb-auto" onClose={onClose}>
      <input
        className="w-full h-12 px-4 bg-transparent outline-none border-b border-line text-sm"
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={items[chosen] && `${listId}-${chosen}`}
        aria-label={t.nav.search}
        placeholder={t.nav.searchFor}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, items.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
          else if (event.key === "Enter" && !event.nativeEvent.isComposing) run(items[chosen]);
          else return;
          event.preventDefault();
        }}
      />
      <div className="p-1 max-h-[50vh] overflow-auto" id={listId} role="listbox" aria-label={t.nav.search}>
        {items.map((item, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above moves in this list by keys.
          <div
            key={item.id}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            className="menu-item"
            onPointerMove={() => setAt(index)}
            onClick={() => run(item)}
          >
            <Icon name={item.icon} />
            <span className="cut">
              <SeenText text={item.words} />
            </span>
            {item.row && (
              <span className="ml-auto small">
                <StateWord standing={standingOf(item.row.state, item.row.pauseType, item.row.damaged)} />
              </span>
            )}
          </div>
        ))}
        {items.length === 0 && <p className="p-3 faint">{t.nav.nothingFound}</p>}
      </div>
    </Dialog>
  );
}
