import { expect, test } from "vitest";
import type { MetCall } from "../../agent.ts";
import { metCalls } from "./met-calls.ts";

const call = (id: string, address: string, how: MetCall["how"] = "stopped"): MetCall => ({ id, address, how });

test("S2: a receipt lists calls by their place: by turn, then as the model asked, and inside a call before the next one", () => {
  const calls = [
    call("last", "root/t2/c10"),
    call("second", "root/t2/c2"),
    call("inside, second", "root/t2/c0/child/t1/c1"),
    call("held", "root/t2/c1", "notStarted"),
    call("inside, first", "root/t2/c0/child/t1/c0"),
    call("first", "root/t2/c0"),
    call("of the turn before", "root/t1/c0", "finished"),
  ];
  const listed = {
    stopped: ["first", "inside, first", "inside, second", "second", "last"],
    finished: ["of the turn before"],
    notStarted: ["held"],
    late: ["of another segment", "first", "last"],
  };
  expect(metCalls(calls, ["last", "of another segment", "first"])).toEqual(listed);
  expect(metCalls(calls.toReversed(), ["last", "first", "of another segment"])).toEqual(listed);
});

test("S8: agents that run at once are listed in their order", () => {
  const calls = [call("c", "team/10:reader/t1/c0"), call("b", "team/2:writer/t1/c0"), call("a", "team/0:z/t1/c0")];
  expect(metCalls(calls, []).stopped).toEqual(["a", "b", "c"]);
});
