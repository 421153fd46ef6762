// The way in: the link that the server printed carries a token behind #. It becomes a cookie and leaves the address bar.

import { useState } from "react";
import { Button } from "../parts/button.tsx";
import { Mark, Word } from "../parts/mark.tsx";
import { Command } from "../parts/states.tsx";
import { useTexts } from "../texts/texts.ts";
import { asProblem } from "../wire/problem.ts";
import { logIn } from "../wire/write.ts";

/** Uses the token of the address, if it has one. Resolves to the problem if it was refused. */
export async function enterByFragment(): Promise<string | undefined> {
  const token = new URLSearchParams(location.hash.slice(1)).get("t");
  if (token === null) return undefined;
  history.replaceState(null, "", location.pathname + location.search);
  try {
    await logIn(token);
    return undefined;
  } catch (error) {
    return asProblem(error).message;
  }
}

export function Login({ problem, onIn }: { problem: string | undefined; onIn(): void }) {
  const t = useTexts();
  const [token, setToken] = useState("");
  const [refused, setRefused] = useState(problem);
  const enter = async () => {
    const given = token.includes("#t=") ? token.slice(token.indexOf("#t=") + 3) : token.trim();
    try {
      await logIn(given);
      onIn();
    } catch (error) {
      setRefused(asProblem(error).message);
    }
  };
  return (
    <main className="h-dvh grid place-items-center p-4 bg-bg overflow-auto">
      <div className="card p-6 w-full max-w-[440px] grid gap-4">
        <div className="row">
          <Mark hole="var(--surface)" />
          <Word />
        </div>
        <div className="grid gap-1">
          <h1 className="text-base font-semibold">{t.login.title}</h1>
          <p className="dim">{t.login.how}</p>
        </div>
        <Command text="belay serve --open" />
        <form
          className="grid gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            void enter();
          }}
        >
          <label className="grid gap-1">
            <span className="label">{t.login.token}</span>
            <input
              className={`input mono !h-9 ${refused === undefined ? "" : "is-bad"}`}
              value={token}
              autoComplete="off"
              spellCheck={false}
              placeholder="http://127.0.0.1:4180/#t=…"
              onChange={(event) => setToken(event.target.value)}
            />
          </label>
          {refused !== undefined && (
            <p className="fg-fail small" role="alert">
              {refused}
            </p>
          )}
          <Button look="primary" size="lg" disabled={token.trim() === ""} onClick={() => void enter()}>
            {t.login.enter}
          </Button>
        </form>
        <p className="small faint">{t.login.where}</p>
      </div>
    </main>
  );
}
