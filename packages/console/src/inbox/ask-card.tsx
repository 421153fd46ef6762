// One request, to decide. Arguments first; then the context of the request, the approvals with their digests, the deadline. Space and
// Enter never approve, keys are dead for a moment after the card appears, and a destructive call needs a second press.

import type { Json } from "@belay/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { holdKeys, useKeys } from "../keys/keys.ts";
import { useIsPhone } from "../look/settings.ts";
import { Button, Key } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { isObject } from "../parts/json.tsx";
import { toast } from "../parts/toasts.tsx";
import { rolesOf, useMe, useRefusal } from "../shell/who.ts";
import { useTexts } from "../texts/texts.ts";
import { asProblem } from "../wire/problem.ts";
import { agents, look, mine } from "../wire/read.ts";
import type { Ask, Decided } from "../wire/shapes.ts";
import { send } from "../wire/write.ts";
import { AnswerForm, isAnswered } from "./answer-form.tsx";
import { ArgsGrid, type Edits, withEdits } from "./args-grid.tsx";
import { notForMe, toolNamed, votesFor } from "./ask-words.ts";
import { Details, Remember } from "./card-details.tsx";
import { Head, Shown } from "./card-head.tsx";
import { ApproveButton, focused, Pending, Reasons } from "./decide-buttons.tsx";
import { DecidedNote } from "./decided-note.tsx";
import { decidedOf } from "./decided-of.ts";
import { type Sending, useDecision } from "./use-decision.ts";

const ARMED_MS = 4_000;

interface CardProps {
  readonly ask: Ask;
  readonly decided: Decided | undefined;
  readonly inThread?: boolean;
}

export function AskCard({ ask: listed, decided, inThread = false }: CardProps) {
  const t = useTexts();
  // The thread has the approvals of this moment; a list may have none of them.
  const { data: now } = useQuery({ ...look(listed.threadId), enabled: (listed.quorum ?? 1) > 1 });
  const approvals = listed.approvals ?? now?.interrupts.find(({ id }) => id === listed.id)?.approvals;
  const ask: Ask = approvals === undefined ? listed : { ...listed, approvals };
  const deciding = useDecision(ask.id, ask.threadId);
  const { data: all } = useQuery(agents);
  const tool = toolNamed(all, ask.tool);
  useEffect(() => {
    if (ask.id !== "") holdKeys();
  }, [ask.id]);
  const [note, setNote] = useState("");
  const outcome = lostTo(deciding.state) ?? decided;
  if (outcome !== undefined && deciding.state.is !== "sending") {
    const mineAt = deciding.state.is === "refused" ? deciding.state.at : undefined;
    const steer = () =>
      void send(ask.threadId, note, "steer").then(
        () => toast({ icon: "steer", words: t.decided.steered }),
        (error) => toast({ icon: "warning", isFail: true, words: asProblem(error).message }),
      );
    return (
      <div className="ask-body">
        <Head ask={ask} destructive={tool?.destructive === true} inThread={inThread} />
        <DecidedNote
          decided={outcome}
          threadId={ask.threadId}
          mineAt={mineAt}
          kept={mineAt === undefined ? undefined : note}
          onSteer={steer}
        />
        {ask.args !== undefined && ask.kind !== "input" && (
          <div className="grid gap-2">
            <span className="label">{t.call.asked}</span>
            <ArgsGrid args={ask.args} edits={undefined} onEdit={() => {}} />
          </div>
        )}
        <Shown ask={ask} />
      </div>
    );
  }
  return (
    <OpenCard
      ask={ask}
      deciding={deciding}
      destructive={tool?.destructive === true}
      note={note}
      onNote={setNote}
      inThread={inThread}
    />
  );
}

/** The decision that was faster than this person's, as far as the refusal names it. */
function lostTo(state: Sending): Decided | undefined {
  if (state.is !== "refused") return undefined;
  const { code, details } = state.problem;
  const at = Date.parse(String(details.at ?? details.expiredAt ?? "")) || state.at;
  if (code === "ANSWER_TAKEN") {
    return decidedOf({ how: details.how ?? "approved", by: details.by ?? "?", at });
  }
  if (code === "ANSWER_WITHDRAWN") return { how: "withdrawn", by: String(details.by ?? ""), at };
  if (code === "ANSWER_EXPIRED") return { how: "expired", by: "", at };
  return undefined;
}

interface OpenProps {
  readonly ask: Ask;
  readonly deciding: ReturnType<typeof useDecision>;
  readonly destructive: boolean;
  readonly note: string;
  readonly inThread: boolean;
  onNote(note: string): void;
}

function OpenCard({ ask, deciding, destructive, note, onNote, inThread }: OpenProps) {
  const t = useTexts();
  const who = useMe();
  const noRole = useRefusal("approver");
  const mineIds = useQuery({ ...mine, enabled: ask.approvers !== undefined }).data?.items;
  const notMine = notForMe(t, ask, who, mineIds && new Set(mineIds.map(({ id }) => id)), ask.id);
  const refused = noRole ?? notMine;
  const [edits, setEdits] = useState<Edits>();
  const [mode, setMode] = useState<"look" | "reject" | "respond">("look");
  const [reason, setReason] = useState("");
  const [value, setValue] = useState<Json | undefined>(undefined);
  const [remember, setRemember] = useState<"" | "thread" | "always">("");
  const [armed, setArmed] = useState(0);
  const isPhone = useIsPhone();
  const noteField = useRef<HTMLInputElement>(null);
  const { state } = deciding;
  const isQuestion = ask.kind === "input" || ask.kind === "custom" || !["approval", "unknown"].includes(ask.kind);
  const canEdit = ask.kind === "approval" && ask.key === undefined && isObject(ask.args);
  const edited = edits === undefined ? undefined : withEdits(ask.args, edits);
  const isEdited = edited !== undefined && edited.changed.length > 0;
  const need = ask.quorum ?? 1;
  const votes = votesFor(ask.approvals, ask.digest);
  const completes = (isEdited ? 0 : votes.length) + 1 >= need;
  const voted = ask.approvals?.find(({ by }) => by === who?.user);
  const busy = state.is === "waiting" || state.is === "sending" || state.is === "sent";

  useEffect(() => {
    if (armed === 0) return;
    const timer = setTimeout(() => setArmed(0), ARMED_MS);
    return () => clearTimeout(timer);
  }, [armed]);

  const cannot =
    refused ?? (edited !== undefined && edited.bad.length > 0 ? t.card.cannotRead(edited.bad.join(", ")) : undefined);
  const approveNow = () => {
    if (cannot !== undefined || busy) return;
    setArmed(0);
    deciding.decide({
      type: "approve",
      ...(isEdited && { args: edited.args }),
      ...(note.trim() !== "" && { note: note.trim() }),
      ...(remember !== "" && { remember }),
      ...(!isEdited && ask.digest !== undefined && { digest: ask.digest }),
    });
  };
  const approve = () => {
    if (destructive && armed === 0) setArmed(Date.now());
    else approveNow();
  };
  const reject = () => {
    if (refused === undefined && !busy) deciding.decide({ type: "reject", reason: reason.trim() || t.card.noReason });
  };
  const respond = () => {
    if (refused === undefined && !busy && value !== undefined) deciding.decide({ type: "respond", value });
  };

  useKeys({
    ...(isQuestion ? {} : { a: approve }),
    ...(canEdit && { e: () => setEdits(edits === undefined ? {} : undefined) }),
    r: () => setMode(mode === "reject" ? "look" : "reject"),
    n: () => noteField.current?.focus(),
    ...(state.is === "waiting" && { u: deciding.undo }),
    ...((edits !== undefined || mode !== "look" || armed > 0) && {
      Escape: () => {
        if (armed > 0) setArmed(0);
        else if (mode !== "look") setMode("look");
        else setEdits(undefined);
      },
    }),
  });

  const offers = isObject(ask.context) && Array.isArray(ask.context.options) ? ask.context.options.map(String) : [];
  return (
    <>
      <div className="ask-body">
        <Head ask={ask} destructive={destructive} inThread={inThread} />
        {ask.kind === "unknown" && (
          <div className="note note-person">
            <Icon name="unknown" />
            <span>{t.call.unknown}</span>
          </div>
        )}
        {ask.args !== undefined && !isQuestion && (
          <div className="grid gap-2">
            <div className="row">
              <span className="label">{edits === undefined ? t.card.args : t.card.argsEdited}</span>
              {ask.changedBy === "hook" && <span className="tag">{t.card.byHook}</span>}
              {ask.digest !== undefined && (
                <span className={`small faint ml-auto ${edits === undefined ? "" : "opt"}`}>
                  {t.card.digest}{" "}
                  {isEdited ? (
                    <del className="mono">{ask.digest.slice(0, 6)}</del>
                  ) : (
                    <code>{ask.digest.slice(0, 6)}</code>
                  )}
                </span>
              )}
              {canEdit && (
                <Button
                  className={ask.digest === undefined || edits !== undefined ? "ml-auto" : ""}
                  size="sm"
                  icon={edits === undefined ? "edit" : "undo"}
                  keys={edits === undefined ? "e" : "Escape"}
                  onClick={() => setEdits(edits === undefined ? {} : undefined)}
                  disabled={busy}
                >
                  {edits === undefined ? t.card.edit : t.card.backToAsked}
                </Button>
              )}
            </div>
            <ArgsGrid args={ask.args} edits={edits} onEdit={setEdits} />
          </div>
        )}
        {isEdited && need > 1 && (
          <div className="note note-person">
            <Icon name="person" />
            <span>
              <strong>{t.card.ownCount}</strong>{" "}
              {votes.length > 0 && t.card.ownCountWhy(votes.map(({ by }) => by).join(", "), need)}
            </span>
          </div>
        )}
        <Shown ask={ask} />
        {isQuestion && (
          <form
            className="grid gap-2"
            onSubmit={(event) => {
              event.preventDefault();
              respond();
            }}
          >
            <AnswerForm schema={ask.schema} offers={offers} value={value} onValue={setValue} />
          </form>
        )}
        <Details ask={ask} />
        {ask.kind === "approval" && ask.key === undefined && (
          <Remember
            ask={ask}
            args={isEdited ? edited.args : ask.args}
            value={remember}
            isAdmin={rolesOf(who).includes("admin")}
            onValue={setRemember}
          />
        )}
        {state.is === "refused" && (
          <div className="note note-fail" role="alert">
            <Icon name="warning" />
            <span className="grow wrap-anywhere">
              <strong>{state.problem.message}</strong> {state.problem.hint}{" "}
              <code className="faint">{state.problem.code}</code>
            </span>
          </div>
        )}
      </div>
      <div className="decide">
        {busy ? (
          <Pending deciding={deciding} />
        ) : mode === "reject" ? (
          <form
            className="decide-row decide-reject"
            onSubmit={(event) => {
              event.preventDefault();
              reject();
            }}
          >
            <Reasons onPick={setReason} />
            <input
              ref={focused}
              className="input !w-auto grow min-w-[160px] !h-9"
              aria-label={t.card.reason}
              placeholder={t.card.reason}
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
            <Button size="lg" look="primary" refused={refused} onClick={reject}>
              {t.card.reject}
            </Button>
            <Button size="lg" look="ghost" keys="Escape" onClick={() => setMode("look")}>
              {t.all.back}
            </Button>
          </form>
        ) : mode === "respond" ? (
          <form
            className="grid gap-2 max-w-[760px]"
            onSubmit={(event) => {
              event.preventDefault();
              respond();
            }}
          >
            <p className="dim">{ask.kind === "unknown" ? t.card.resultHow : t.card.respondHow}</p>
            <AnswerForm schema={{ type: "json" }} offers={[]} value={value} onValue={setValue} />
            <div className="row">
              <Button size="lg" look="primary" refused={refused} disabled={value === undefined} onClick={respond}>
                {t.card.useAsResult}
              </Button>
              <Button size="lg" look="ghost" keys="Escape" onClick={() => setMode("look")}>
                {t.all.back}
              </Button>
            </div>
          </form>
        ) : isQuestion ? (
          <div className="decide-row">
            <div className="decide-main">
              <Button
                className="btn-approve"
                size="lg"
                look="primary"
                refused={refused}
                disabled={!isAnswered(ask.schema, value)}
                onClick={respond}
              >
                {t.card.answer}
              </Button>
              <Button size="lg" keys="r" refused={refused} onClick={() => setMode("reject")}>
                {t.card.decline}
              </Button>
            </div>
            {refused !== undefined && <span className="small faint">{refused}</span>}
          </div>
        ) : ask.kind === "unknown" ? (
          <div className="decide-row decide-ways">
            <ApproveButton
              words={armed > 0 ? t.card.again : t.card.runAgain}
              isAgain
              destructive={destructive}
              armed={armed > 0}
              refused={refused}
              onPress={approve}
              onHeld={approveNow}
            />
            <Button size="lg" icon="edit" refused={refused} onClick={() => setMode("respond")}>
              {t.card.hereIsResult}
            </Button>
            <Button size="lg" look="ghost" keys="r" refused={refused} onClick={() => setMode("reject")}>
              {t.card.skip}
            </Button>
          </div>
        ) : (
          <div className="decide-row">
            <div className="decide-main">
              <ApproveButton
                words={
                  armed > 0
                    ? t.card.pressAgain(ask.tool ?? "")
                    : isEdited
                      ? t.card.approveEdited(edited.changed.length)
                      : completes
                        ? t.card.approveRuns(ask.tool ?? "")
                        : t.card.approveCounts(votes.length + 1, need)
                }
                destructive={destructive}
                armed={armed > 0}
                refused={cannot ?? (voted !== undefined && !isEdited ? t.card.youApproved : undefined)}
                onPress={approve}
                onHeld={approveNow}
              />
              <Button size="lg" keys="r" refused={refused} onClick={() => setMode("reject")}>
                {t.card.rejectMore}
              </Button>
            </div>
            {ask.key === undefined && (
              <Button className="opt" size="lg" look="ghost" refused={refused} onClick={() => setMode("respond")}>
                {t.card.answerForIt}
              </Button>
            )}
            {refused === undefined && (
              <input
                ref={noteField}
                className="input !w-auto grow basis-40 min-w-0 !h-9"
                aria-label={t.card.note}
                placeholder={t.card.notePlaceholder}
                value={note}
                onChange={(event) => onNote(event.target.value)}
                onKeyDown={(event) => event.key === "Escape" && noteField.current?.blur()}
              />
            )}
            {(cannot ?? voted) !== undefined && (
              <span className="small faint basis-full">{cannot ?? t.card.youApproved}</span>
            )}
            {destructive && cannot === undefined && (
              <span className="small faint basis-full hold-how">
                {isPhone ? t.card.destructiveHold : t.card.destructiveHow}
              </span>
            )}
          </div>
        )}
      </div>
    </>
  );
}

export function KeyLine() {
  const t = useTexts();
  return (
    <div className="small faint row flex-wrap mt-auto p-3 opt">
      <Key name="j" />
      <Key name="k" /> {t.keys.move}
      <Key name="x" /> {t.keys.select}
      <Key name="?" /> {t.keys.all}
    </div>
  );
}
