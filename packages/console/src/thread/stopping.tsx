// The stop: the control that is always present. It is sent at once, guarded by run and segment, and the receipt that
// comes back names the stopped calls and the time.

import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useKeys } from "../keys/keys.ts";
import { useNow } from "../live/use-live.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Menu, MenuItem, MenuLine } from "../parts/menu.tsx";
import { toast } from "../parts/toasts.tsx";
import { useRefusal } from "../shell/who.ts";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import { exportAll } from "../threads/bulk-bar.tsx";
import { asProblem } from "../wire/problem.ts";
import { changed } from "../wire/read.ts";
import { type Guard, label, pause, type StopOptions, stop, terminate } from "../wire/write.ts";

export interface Stopping {
  /** When the stop that is under way was sent. */
  readonly since: number | undefined;
  readonly options: boolean;
  stop(options?: StopOptions): void;
  setOptions(open: boolean): void;
  /** Escape with nothing else to close: says how to stop. */
  offer(): void;
}

export function useStopping(threadId: string, guard: Guard, isRunning: boolean): Stopping {
  const t = useTexts();
  const times = useTimes();
  const refused = useRefusal("operator");
  const [since, setSince] = useState<number>();
  const [options, setOptions] = useState(false);
  const running = useRef(isRunning);
  running.current = isRunning;
  const send = (given: StopOptions = {}) => {
    if (refused !== undefined || !running.current) return;
    setOptions(false);
    const began = performance.now();
    setSince(Date.now());
    stop(threadId, guard, given)
      .then((receipt) => {
        const ms = times.lasting(performance.now() - began);
        const met =
          receipt.accepted === false
            ? t.stop.nothing
            : t.stop.receipt(
                receipt.stopped?.length ?? 0,
                receipt.finished?.length ?? 0,
                receipt.notStarted?.length ?? 0,
                receipt.late?.length ?? 0,
              );
        toast({ icon: "stopped", words: `${t.stop.stopped} · ${ms} · ${met}` });
      })
      .catch((error: unknown) => toast({ icon: "warning", isFail: true, words: asProblem(error).message }))
      .finally(() => {
        setSince(undefined);
        changed(threadId);
      });
  };
  useEffect(() => {
    if (!isRunning) setOptions(false);
  }, [isRunning]);
  useKeys({
    "mod+.": () => send(),
    "mod+shift+.": () => running.current && setOptions(true),
  });
  return {
    since,
    options,
    stop: send,
    setOptions,
    offer() {
      if (!running.current || refused !== undefined) return;
      toast({ icon: "stop", words: t.stop.offer, action: { words: t.stop.stop, run: () => send() } }, 4_000);
    },
  };
}

/** Lets the turn end and rests then. On a phone it is in the menu. */
export function PauseButton({ threadId, guard, isRunning }: { threadId: string; guard: Guard; isRunning: boolean }) {
  const t = useTexts();
  const refused = useRefusal("operator");
  const [busy, setBusy] = useState(false);
  if (!isRunning) return null;
  const press = () => {
    setBusy(true);
    pause(threadId, guard)
      .then(
        () => toast({ icon: "pause", words: t.stop.paused }),
        (error: unknown) => toast({ icon: "warning", isFail: true, words: asProblem(error).message }),
      )
      .finally(() => {
        setBusy(false);
        changed(threadId);
      });
  };
  return (
    <Button className="opt" icon="pause" title={t.stop.pause} refused={refused} disabled={busy} onClick={press}>
      {busy ? t.stop.pausing : t.stop.pauseShort}
    </Button>
  );
}

export function StopButton({ stopping, isRunning }: { stopping: Stopping; isRunning: boolean }) {
  const t = useTexts();
  const times = useTimes();
  const refused = useRefusal("operator");
  const now = useNow(100);
  if (!isRunning) return null;
  return (
    <>
      <Button look="primary" icon="stop" keys="mod+." refused={refused} onClick={() => stopping.stop()}>
        {stopping.since === undefined ? t.stop.stop : `${t.stop.stopping} ${times.lasting(now - stopping.since)}`}
      </Button>
      {stopping.options && (
        <StopOptionsDialog onClose={() => stopping.setOptions(false)} onStop={(options) => stopping.stop(options)} />
      )}
    </>
  );
}

function StopOptionsDialog({ onClose, onStop }: { onClose(): void; onStop(options: StopOptions): void }) {
  const t = useTexts();
  const [mode, setMode] = useState<NonNullable<StopOptions["mode"]>>("now");
  const [reason, setReason] = useState("");
  const [rollback, setRollback] = useState(false);
  const [keep, setKeep] = useState(false);
  return (
    <Dialog title={t.stop.options} onClose={onClose}>
      <form
        className="grid gap-4 mt-3"
        onSubmit={(event) => {
          event.preventDefault();
          onStop({
            mode,
            ...(reason.trim() && { reason: reason.trim() }),
            ...(rollback && { rollbackPartial: true }),
            ...(keep && { requests: "keep" as const }),
          });
        }}
      >
        <fieldset className="grid gap-2">
          <legend className="label mb-1">{t.stop.when}</legend>
          {(["now", "after-model", "after-tools"] as const).map((each) => (
            <label key={each} className="row items-start">
              <input
                type="radio"
                className="radio mt-0.5"
                name="mode"
                checked={mode === each}
                onChange={() => setMode(each)}
              />
              <span>
                {t.stop.mode[each]}
                <span className="block small faint">{t.stop.modeHow[each]}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <label className="grid gap-1">
          <span className="label">{t.stop.reason}</span>
          <input
            className="input"
            value={reason}
            onChange={(event) => setReason(event.target.value)}
            placeholder={t.stop.reasonHow}
          />
        </label>
        <div className="grid gap-2">
          <label className="row">
            <input
              type="checkbox"
              className="check"
              checked={rollback}
              onChange={(event) => setRollback(event.target.checked)}
            />
            {t.stop.rollback}
          </label>
          <label className="row">
            <input
              type="checkbox"
              className="check"
              checked={keep}
              onChange={(event) => setKeep(event.target.checked)}
            />
            {t.stop.keep}
          </label>
        </div>
        <div className="row justify-end">
          <Button look="ghost" keys="Escape" onClick={onClose}>
            {t.all.cancel}
          </Button>
          <button type="submit" className="btn btn-primary">
            {t.stop.stop}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface MenuProps {
  readonly threadId: string;
  readonly title: string;
  readonly guard: Guard;
  readonly state: string | undefined;
  readonly stopping: Stopping;
}

export function ThreadMenu({ threadId, title, guard, state, stopping }: MenuProps) {
  const t = useTexts();
  const [, go] = useLocation();
  const operate = useRefusal("operator");
  const admin = useRefusal("admin");
  const [asks, setAsks] = useState<"terminate" | "rename">();
  const isRunning = state === "running";
  const say = (work: Promise<unknown>, words: string) =>
    void work
      .then(
        () => toast({ icon: "check", words }),
        (error) => toast({ icon: "warning", isFail: true, words: asProblem(error).message }),
      )
      .finally(() => changed(threadId));
  return (
    <>
      <Menu button={<Button look="ghost" icon="more" aria-label={t.all.more} />}>
        {isRunning && (
          <>
            <MenuItem icon="stop" keys="mod+shift+." refused={operate} onSelect={() => stopping.setOptions(true)}>
              {t.stop.withOptions}
            </MenuItem>
            <MenuItem icon="pause" refused={operate} onSelect={() => say(pause(threadId, guard), t.stop.paused)}>
              {t.stop.pause}
            </MenuItem>
          </>
        )}
        <MenuItem icon="fork" keys="f" onSelect={() => go(`/threads/${encodeURIComponent(threadId)}/fork`)}>
          {t.thread.forkMore}
        </MenuItem>
        <MenuItem icon="edit" refused={operate} onSelect={() => setAsks("rename")}>
          {t.thread.rename}
        </MenuItem>
        <MenuItem icon="save" onSelect={() => void exportAll([{ threadId }])}>
          {t.threads.export}
        </MenuItem>
        <MenuItem icon="copy" onSelect={() => void navigator.clipboard?.writeText(threadId)}>
          {t.thread.copyId}
        </MenuItem>
        <MenuLine />
        <MenuItem
          icon="none"
          danger
          refused={admin ?? (state === "terminated" ? t.thread.isTerminated : undefined)}
          onSelect={() => setAsks("terminate")}
        >
          {t.thread.terminate}
        </MenuItem>
      </Menu>
      {asks === "terminate" && (
        <Dialog title={t.thread.terminateTitle(title)} onClose={() => setAsks(undefined)}>
          <p className="dim mt-2">{t.thread.terminateHow}</p>
          <div className="row mt-4">
            {isRunning && (
              <Button
                icon="stop"
                refused={operate}
                onClick={() => {
                  setAsks(undefined);
                  stopping.stop();
                }}
              >
                {t.thread.stopInstead}
              </Button>
            )}
            <Button className="ml-auto" look="ghost" keys="Escape" onClick={() => setAsks(undefined)}>
              {t.all.cancel}
            </Button>
            <Button
              look="armed"
              onClick={() => {
                setAsks(undefined);
                say(terminate(threadId, guard), t.thread.terminated);
              }}
            >
              {t.thread.terminate}
            </Button>
          </div>
        </Dialog>
      )}
      {asks === "rename" && (
        <Rename
          title={title}
          onClose={() => setAsks(undefined)}
          onRename={(next) => {
            setAsks(undefined);
            say(label(threadId, { title: next || null }), t.thread.renamed);
          }}
        />
      )}
    </>
  );
}

function Rename({ title, onClose, onRename }: { title: string; onClose(): void; onRename(title: string): void }) {
  const t = useTexts();
  const [text, setText] = useState(title);
  return (
    <Dialog title={t.thread.rename} onClose={onClose}>
      <form
        className="grid gap-3 mt-3"
        onSubmit={(event) => {
          event.preventDefault();
          onRename(text.trim());
        }}
      >
        <input
          className="input"
          aria-label={t.thread.rename}
          value={text}
          maxLength={200}
          onChange={(event) => setText(event.target.value)}
        />
        <div className="row justify-end">
          <Button look="ghost" keys="Escape" onClick={onClose}>
            {t.all.cancel}
          </Button>
          <button type="submit" className="btn btn-primary">
            {t.all.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
