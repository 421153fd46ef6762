import { useSettings } from "../look/settings.ts";
import { en } from "./en.ts";
import { zh } from "./zh.ts";

/** The words of the console. Both languages are of this type: a missing one does not compile. */
export type Texts = Widened<typeof en>;

type Widened<T> = {
  readonly [K in keyof T]: T[K] extends string
    ? string
    : T[K] extends (...args: infer A) => string
      ? (...args: A) => string
      : Widened<T[K]>;
};

const all: Readonly<Record<"en" | "zh", Texts>> = { en, zh };

export function useTexts(): Texts {
  return all[useSettings().language];
}
