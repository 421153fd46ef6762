import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { useKeys } from "../keys/keys.ts";
import { line } from "../live/line.ts";
import { useLine } from "../live/use-live.ts";
import { change, useSettings } from "../look/settings.ts";
import { Button, Key } from "../parts/button.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Mark, Word } from "../parts/mark.tsx";
import { Menu, MenuChoice, MenuItem, MenuLine } from "../parts/menu.tsx";
import { Avatar } from "../parts/people.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { Toasts } from "../parts/toasts.tsx";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import { inbox, running } from "../wire/read.ts";
import { logOut } from "../wire/write.ts";
import { KeyOverview } from "./key-overview.tsx";
import { canNotify, setNotify } from "./notify.ts";
import { Palette } from "./palette.tsx";
import { rolesOf, useMe } from "./who.ts";

/** The number of requests that wait for a person: the same in the navigation, the title and the list. */
export function useOpenCount(): number {
  const { data } = useQuery(inbox);
  return data === undefined ? 0 : Math.max(data.items.length + data.damaged.length, data.counts?.open ?? 0);
}

export function Shell({ children }: { children: ReactNode }) {
  const t = useTexts();
  const [, go] = useLocation();
  const [palette, setPalette] = useState(false);
  const [keys, setKeys] = useState(false);
  const open = useOpenCount();
  useEffect(() => {
    document.title = open > 0 ? `(${open}) Belay` : "Belay";
  }, [open]);
  useKeys({
    "g i": () => go("/inbox"),
    "g t": () => go("/threads"),
    "g a": () => go("/agents"),
    "g p": () => go("/permissions"),
    "mod+k": () => setPalette(true),
    "?": () => setKeys(true),
  });
  return (
    <div className="app">
      <button
        type="button"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-raised focus:p-2"
        onClick={() => document.getElementById("main")?.focus()}
      >
        {t.nav.skip}
      </button>
      <OfflineBar />
      <nav className="nav" aria-label={t.nav.main}>
        <Link className="brand" href="/" aria-label="Belay">
          <Mark />
          <Word />
        </Link>
        <div className="nav-list">
          <NavItem to="/inbox" icon="inbox" words={t.nav.inbox} count={open} />
          <NavItem to="/threads" icon="threads" words={t.nav.threads} />
          <NavItem to="/agents" icon="agent" words={t.nav.agents} />
          <NavItem to="/permissions" icon="shield" words={t.nav.permissions} />
        </div>
        <RunningNow />
        <div className="nav-foot">
          <button type="button" className="nav-sub" onClick={() => setPalette(true)}>
            <Icon name="search" />
            <span className="nav-text">{t.nav.search}</span>
            <span className="ml-auto">
              <Key name="mod+k" />
            </span>
          </button>
          <Who onKeys={() => setKeys(true)} />
        </div>
      </nav>
      <main className="main" id="main" tabIndex={-1}>
        {children}
      </main>
      <Toasts />
      {palette && <Palette onClose={() => setPalette(false)} />}
      {keys && <KeyOverview onClose={() => setKeys(false)} />}
    </div>
  );
}

function NavItem({ to, icon, words, count = 0 }: { to: string; icon: IconName; words: string; count?: number }) {
  const t = useTexts();
  const [at] = useLocation();
  const isHere = at === to || at.startsWith(`${to}/`);
  return (
    <Link className="nav-item" href={to} aria-current={isHere ? "page" : undefined}>
      <Icon name={icon} />
      <span className="nav-text">{words}</span>
      {count > 0 && (
        <span className="count-person ml-auto" title={t.inbox.waiting(count)}>
          {count}
        </span>
      )}
    </Link>
  );
}

function RunningNow() {
  const t = useTexts();
  const items = useQuery(running).data?.items ?? [];
  if (items.length === 0) return null;
  return (
    <div className="nav-running">
      <div className="nav-head">{t.nav.runningNow}</div>
      {items.map(({ threadId, title }) => (
        <Link key={threadId} className="nav-sub" href={`/threads/${encodeURIComponent(threadId)}`}>
          <span className="fg-run">
            <Icon name="play" small />
          </span>
          <span className="cut">
            <SeenText text={title || threadId} />
          </span>
        </Link>
      ))}
    </div>
  );
}

function Who({ onKeys }: { onKeys(): void }) {
  const t = useTexts();
  const who = useMe();
  const name = who?.user ?? "…";
  return (
    <div className="who">
      <Avatar name={name} />
      <div className="grow min-w-0">
        <div className="small medium cut">
          <SeenText text={name} />
        </div>
        <div className="small faint cut">{rolesOf(who).join(", ")}</div>
      </div>
      <SettingsMenu
        onKeys={onKeys}
        button={<Button look="ghost" size="sm" icon="theme" aria-label={t.nav.settings} />}
      />
    </div>
  );
}

export function SettingsMenu({ button, onKeys }: { button: ReactNode; onKeys?(): void }) {
  const t = useTexts();
  const { theme, density, language, notify } = useSettings();
  return (
    <Menu button={button} align="start">
      <MenuChoice
        label={t.nav.theme}
        value={theme}
        choices={[
          ["light", t.nav.light],
          ["dark", t.nav.dark],
          ["system", t.nav.system],
        ]}
        onChange={(next) => change({ theme: next })}
      />
      <MenuLine />
      <MenuChoice
        label={t.nav.language}
        value={language}
        choices={[
          ["en", "English"],
          ["zh", "中文"],
        ]}
        onChange={(next) => change({ language: next })}
      />
      <MenuLine />
      <MenuChoice
        label={t.nav.density}
        value={density}
        choices={[
          ["compact", t.nav.compact],
          ["roomy", t.nav.roomy],
        ]}
        onChange={(next) => change({ density: next })}
      />
      <MenuLine />
      <MenuChoice
        label={t.nav.notify}
        value={notify ? "on" : "off"}
        choices={[
          ["off", t.nav.notifyNever],
          ["on", t.nav.notifyHidden],
        ]}
        onChange={(next) => void setNotify(t, next === "on")}
        refused={canNotify() ? undefined : t.nav.notifyRefused}
      />
      <MenuLine />
      {onKeys && (
        <MenuItem keys="?" onSelect={onKeys}>
          {t.nav.keys}
        </MenuItem>
      )}
      <MenuItem onSelect={() => void logOut().finally(() => location.reload())}>{t.nav.logOut}</MenuItem>
    </Menu>
  );
}

function OfflineBar() {
  const t = useTexts();
  const times = useTimes();
  const state = useLine();
  if (state.is !== "offline") return <span className="contents" role="status" />;
  return (
    <div className="offline" role="status">
      <Icon name="offline" />
      {t.all.offline(times.clock(state.since))}
      <Button size="sm" onClick={() => line.retry()}>
        {t.all.tryNow}
      </Button>
    </div>
  );
}

export function Live() {
  const t = useTexts();
  const isLive = useLine().is === "live";
  return (
    <span className="live opt" data-on={isLive}>
      {isLive ? t.all.live : t.all.notLive}
    </span>
  );
}
