import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { useRefusal } from "../shell/who.ts";
import { useTexts } from "../texts/texts.ts";
import { asProblem } from "../wire/problem.ts";
import { agents } from "../wire/read.ts";
import { start } from "../wire/write.ts";

export function NewThread({ onClose }: { onClose(): void }) {
  const t = useTexts();
  const [, go] = useLocation();
  const refused = useRefusal("operator");
  const { data } = useQuery(agents);
  const [agent, setAgent] = useState("");
  const [input, setInput] = useState("");
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const begin = async () => {
    if (input.trim() === "" || busy || refused !== undefined) return;
    setBusy(true);
    try {
      const { thread } = await start(agent || undefined, input);
      go(`/threads/${encodeURIComponent(thread.threadId)}`);
    } catch (error) {
      setProblem(asProblem(error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title={t.threads.start} onClose={onClose}>
      <form
        className="grid gap-3 mt-3"
        onSubmit={(event) => {
          event.preventDefault();
          void begin();
        }}
      >
        <label className="grid gap-1">
          <span className="label">{t.threads.agent}</span>
          <select
            className="select w-full"
            value={agent || data?.[0]?.name}
            onChange={(event) => setAgent(event.target.value)}
          >
            {(data ?? []).map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label className="grid gap-1">
          <span className="label">{t.threads.input}</span>
          <textarea
            data-first
            className="textarea"
            rows={4}
            value={input}
            onChange={(event) => setInput(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void begin();
            }}
          />
        </label>
        {problem !== undefined && (
          <p className="fg-fail small" role="alert">
            {problem}
          </p>
        )}
        <div className="row justify-end">
          <Button look="ghost" keys="Escape" onClick={onClose}>
            {t.all.cancel}
          </Button>
          <Button
            look="primary"
            icon="play"
            keys="mod+Enter"
            refused={refused}
            disabled={input.trim() === "" || busy}
            onClick={() => void begin()}
          >
            {t.threads.begin}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
