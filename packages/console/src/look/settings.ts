// Theme, density, language and notifications of this browser: kept in localStorage, applied to <html> before the first paint.

import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark" | "system";
export type Density = "compact" | "roomy";
export type Language = "en" | "zh";

export interface Settings {
  /** Notifications of the browser about requests. */
  readonly notify: boolean;
  readonly theme: Theme;
  readonly density: Density;
  readonly language: Language;
}

const KEY = "belay-console";
const readers = new Set<() => void>();
const dark = window.matchMedia("(prefers-color-scheme: dark)");

let settings: Settings = {
  notify: false,
  theme: "system",
  density: "compact",
  language: navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en",
  ...kept(),
};

function kept(): Partial<Settings> {
  try {
    const { theme, density, language, notify } = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return {
      ...(["light", "dark", "system"].includes(theme) && { theme }),
      ...(["compact", "roomy"].includes(density) && { density }),
      ...(["en", "zh"].includes(language) && { language }),
      ...(notify === true && { notify }),
    };
  } catch {
    return {};
  }
}

function apply(): void {
  const { theme, density, language } = settings;
  const root = document.documentElement;
  root.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
  root.dataset.density = density;
  root.lang = language === "zh" ? "zh-CN" : "en";
}

export function startSettings(): void {
  apply();
  dark.addEventListener("change", apply);
}

export function change(some: Partial<Settings>): void {
  settings = { ...settings, ...some };
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // A browser that keeps nothing forgets it with the tab.
  }
  apply();
  for (const reader of readers) reader();
}

export function useSettings(): Settings {
  return useSyncExternalStore(
    (reader) => {
      readers.add(reader);
      return () => readers.delete(reader);
    },
    () => settings,
  );
}

/** The width below which the style sheets lay pages out for a phone. */
const phone = window.matchMedia("(max-width: 760px)");

export function useIsPhone(): boolean {
  return useSyncExternalStore(
    (reader) => {
      phone.addEventListener("change", reader);
      return () => phone.removeEventListener("change", reader);
    },
    () => phone.matches,
  );
}

export function currentSettings(): Settings {
  return settings;
}
