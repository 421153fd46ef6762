// The OpenAPI document against the client: types that are generated from it are types that the client takes and gives.

import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { agent, createRunner } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import openapiTypes, { astToString } from "openapi-typescript";
import { expect, test } from "vitest";
import { sources } from "../../../scripts/sources.mjs";
import { startServer } from "./testing.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Values of type unknown in the document are any JSON in the client; `Sent` leaves those out, and undefined keys. */
const fits = `
import type { Client, ClientThread, InboxFilter, InboxPage, Me, RequestError, ThreadFilter, ThreadItem } from "@belay/client";
import type { Answer, Effect, HistoryPoint, Input, Look, Receipt, RememberedRule, Usage, Verdict } from "@belay/core";
import type { components, operations } from "the-document";
type Schemas = components["schemas"];
type Given<Name extends keyof operations> = operations[Name] extends { responses: { 200: { content: { "application/json": infer Body } } } } ? Body : never;
type Asked<Name extends keyof operations> = operations[Name] extends { parameters: { query?: infer Query } } ? Query : never;
type Taken<Name extends keyof operations> = operations[Name] extends { requestBody?: { content: { "application/json": infer Body } } } ? Body : never;
type Sent<T, Left extends keyof T = never> = { [K in keyof T as K extends Left ? never : undefined extends T[K] ? never : K]: T[K] } &
  { [K in keyof T as K extends Left ? never : undefined extends T[K] ? K : never]?: T[K] };
function fit<Wanted>(_given: Wanted): void {}
declare function some<T>(): T;

fit<readonly Sent<ThreadItem>[]>(some<Given<"listThreads">["items"]>());
fit<Sent<Look, "interrupts" | "interrupt" | "values" | "waiting">>(some<Given<"getThread">>());
fit<readonly { id: string; kind: string; at: number }[]>(some<Given<"listWaiting">["items"]>());
fit<Sent<Receipt>>(some<Given<"interrupt">>());
fit<Sent<Receipt>>(some<Given<"pause">>());
fit<readonly Sent<Effect, "args">[]>(some<Given<"listEffects">["items"]>());
fit<readonly Sent<HistoryPoint>[]>(some<Given<"getHistory">["items"]>());
fit<Sent<Verdict>>(some<Given<"askPermission">>());
fit<readonly Pick<RememberedRule, "id" | "by" | "at">[]>(some<Given<"listRules">["items"]>());
fit<InboxPage["counts"]>(some<Given<"inbox">["counts"]>());
fit<InboxPage["damaged"]>(some<Given<"inbox">["damaged"]>());
fit<readonly Pick<InboxPage["items"][number], "id" | "kind" | "threadId" | "runId">[]>(some<Given<"inbox">["items"]>());
fit<Awaited<ReturnType<Client["answer"]>>>(some<Given<"answer">>());
fit<Sent<Me>>(some<Given<"me">>());
fit<Usage>(some<Schemas["Usage"]>());
fit<Pick<RequestError, "code" | "hint" | "status">>(some<Schemas["Problem"]>());

// The client's Input has more kinds of parts, which the server refuses.
fit<Input>(some<Taken<"run">["input"]>());
fit<Omit<Taken<"send">, "input">>(some<NonNullable<Parameters<ClientThread["send"]>[1]>>());
fit<Taken<"answer">>(some<Answer>());
fit<Taken<"fork">>(some<Parameters<ClientThread["fork"]>[0]>());
fit<NonNullable<Taken<"resume">>["mode"]>(some<NonNullable<Parameters<ClientThread["resume"]>[0]>["mode"]>());
fit<NonNullable<Taken<"interrupt">>["mode"]>(some<NonNullable<Parameters<ClientThread["interrupt"]>[0]>["mode"]>());
fit<Asked<"listThreads">>(some<ThreadFilter>());
fit<Asked<"inbox">>(some<InboxFilter>());
fit<Asked<"listFacts">>(some<NonNullable<Parameters<ClientThread["facts"]>[0]>>());
`;

test("types generated from the document fit those of the client", async () => {
  const runner = createRunner({ agent: agent({ name: "guide", model: scriptedModel([]) }) });
  await using server = await startServer({ runner });
  const folder = join(root, "node_modules/.cache", `belay-openapi-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  try {
    writeFileSync(
      join(folder, "api.ts"),
      astToString(await openapiTypes(server.server.openapi() as never, { immutable: true })),
    );
    writeFileSync(join(folder, "fits.ts"), fits);
    const doors = Object.entries(sources).map(([door, file]) => [door, [file]]);
    const paths = { ...Object.fromEntries(doors), "the-document": ["./api.ts"] };
    const compilerOptions = { noEmit: true, paths, types: ["node"], typeRoots: [join(root, "node_modules/@types")] };
    const project = { extends: join(root, "tsconfig.base.json"), compilerOptions, include: ["fits.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project));
    let problems = "";
    try {
      execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder], {
        encoding: "utf8",
      });
    } catch (error) {
      problems = (error as { stdout: string }).stdout.slice(0, 3000);
    }
    expect(problems).toBe("");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
