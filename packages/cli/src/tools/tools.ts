// The tools of the agent: four that look, four that ask a person first.
// What was approved for one folder is approved for no other: the folder is the version of those that act in it, and a call
// whose tool has another version by now does not run, by whichever way one comes to its thread (Q5).

import type { Tool } from "@belay/core";
import type { Judge } from "../permissions/judge.ts";
import { askUserTool } from "./ask-user.ts";
import { editTool } from "./edit.ts";
import { fetchTool } from "./fetch.ts";
import { listTool } from "./list.ts";
import { readTool } from "./read.ts";
import { searchTool } from "./search.ts";
import { shellTool } from "./shell.ts";
import { writeTool } from "./write.ts";

export function folderTools(root: string, judge: Judge): Tool<unknown>[] {
  return [
    readTool(root),
    listTool(root),
    searchTool(root),
    askUserTool(),
    editTool(root, judge),
    writeTool(root, judge),
    shellTool(root, judge),
    fetchTool(judge),
  ];
}
