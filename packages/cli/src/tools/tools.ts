// The tools of the agent: four that read, four that ask a person first.
// An approval for one folder holds in no other: the folder is the version of the tools that act in it, and a call
// of a tool with another version does not run, from any process (Q5).

import type { Tool } from "@belay/core";
import type { Judge } from "../permissions/judge.ts";
import { askUserTool } from "./ask-user.ts";
import { editTool } from "./edit.ts";
import { fetchTool } from "./fetch.ts";
import { listTool } from "./list.ts";
import { readTool } from "./read.ts";
import { searchTool } from "./search.ts";
import { type ReadFacts, SeenTexts } from "./seen-text.ts";
import { shellTool } from "./shell.ts";
import { writeTool } from "./write.ts";

/**
 * `facts` reads a thread; without it, only calls that this process has asked for are compared with the shown text.
 * `dataFolder` is where running commands are recorded.
 */
export function folderTools(
  root: string,
  judge: Judge,
  facts: ReadFacts = async () => [],
  dataFolder?: string,
): Tool<unknown>[] {
  const seen = new SeenTexts(judge, facts);
  return [
    readTool(root, judge),
    listTool(root, judge),
    searchTool(root, judge),
    askUserTool(),
    editTool(root, seen),
    writeTool(root, seen),
    shellTool(root, judge, dataFolder),
    fetchTool(judge),
  ];
}
