// Styles by name, as a terminal writes them: for dark and light backgrounds, or none at all.

import type { Row } from "../terminal/width.ts";

export type ThemeName = "dark" | "light" | "none";

const dark: Readonly<Record<string, string>> = {
  dim: "2",
  bold: "1",
  italic: "3",
  struck: "9",
  heading: "1;36",
  bullet: "36",
  code: "36",
  link: "4;94",
  comment: "2;3",
  string: "32",
  number: "33",
  keyword: "35",
  added: "32",
  removed: "31",
  hunk: "36",
  person: "1",
  accent: "36",
  ok: "32",
  error: "31",
  stop: "33",
  ask: "1;33",
  chosen: "1;36",
  status: "2",
  busy: "36",
};

const light: Readonly<Record<string, string>> = {
  ...dark,
  heading: "1;34",
  bullet: "34",
  code: "34",
  link: "4;34",
  number: "34",
  hunk: "34",
  accent: "34",
  stop: "35",
  ask: "1;35",
  chosen: "1;34",
  busy: "34",
};

const themes: Readonly<Record<ThemeName, Readonly<Record<string, string>>>> = { dark, light, none: {} };

/** A row as the terminal gets it. Its words must be harmless already. */
export function paint(row: Row, theme: ThemeName): string {
  const codes = themes[theme];
  return row
    .map(({ text, style }) => {
      if (style === undefined || text === "") return text;
      const code = style
        .split(" ")
        .map((name) => codes[name])
        .filter(Boolean)
        .join(";");
      return code === "" ? text : `\u001b[${code}m${text}\u001b[0m`;
    })
    .join("");
}

type Environment = Readonly<Record<string, string | undefined>>;

/** By BELAY_THEME, NO_COLOR and COLORFGBG; dark where nothing is said. */
export function themeOf(env: Environment): ThemeName {
  const { NO_COLOR, BELAY_THEME, COLORFGBG, TERM } = env;
  if ((NO_COLOR !== undefined && NO_COLOR !== "") || TERM === "dumb") return "none";
  if (BELAY_THEME === "light" || BELAY_THEME === "dark" || BELAY_THEME === "none") return BELAY_THEME;
  const background = Number(COLORFGBG?.split(";").at(-1) || Number.NaN);
  return background === 7 || background === 15 ? "light" : "dark";
}

/** What a terminal says of its background when it is asked; undefined where it says something else. */
export function themeOfReport(report: string): ThemeName | undefined {
  const found = /^\]11;rgba?:([0-9a-f]+)\/([0-9a-f]+)\/([0-9a-f]+)/i.exec(report);
  if (found === null) return undefined;
  const [red, green, blue] = found.slice(1, 4).map((part) => Number.parseInt(part, 16) / (16 ** part.length - 1));
  return 0.3 * red! + 0.59 * green! + 0.11 * blue! > 0.5 ? "light" : "dark";
}
