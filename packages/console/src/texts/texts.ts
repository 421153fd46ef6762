import { useSyncExternalStore } from "react";
import { useSettings } from "../look/settings.ts";
import { en, type Texts } from "./en.ts";

export type { Texts } from "./en.ts";

let zh: Texts | undefined;
let loading: Promise<void> | undefined;
const readers = new Set<() => void>();

/** Loads the words of a language, if they are not here yet. English is always here. */
export function loadTexts(language: "en" | "zh"): Promise<void> {
  if (language === "en") return Promise.resolve();
  loading ??= import("./zh.ts").then((module) => {
    zh = module.zh;
    for (const reader of readers) reader();
  });
  return loading;
}

export function useTexts(): Texts {
  const { language } = useSettings();
  const found = useSyncExternalStore(
    (reader) => {
      readers.add(reader);
      return () => readers.delete(reader);
    },
    () => (language === "zh" ? zh : en),
  );
  if (found === undefined) void loadTexts(language);
  return found ?? en;
}
