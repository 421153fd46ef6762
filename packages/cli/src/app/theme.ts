// Styles by name, as a terminal writes them. Colour is state, as in the console: amber waits for a person or was stopped, blue
// runs now, red failed or is destructive. Everything else is ink. The names of the tokens are those of the console's style sheet.

import type { Row } from "../terminal/width.ts";

export type ThemeName = "dark" | "light" | "none";
/** Colours that the terminal can show. */
export type Depth = "16" | "256" | "true";

export interface Look {
  readonly theme: ThemeName;
  readonly depth: Depth;
}

/** Each is a hex value and the codes that stand for it among the sixteen colours; "" leaves the terminal's own ink. */
type Tokens = Readonly<Record<keyof typeof dark, readonly [hex: string, sixteen: string]>>;

const dark = {
  ink: ["#eceff2", ""],
  ink2: ["#b3bbc5", ""],
  ink3: ["#8d97a3", "2"],
  line: ["#434c56", "2"],
  selected: ["#1f242a", ""],
  person: ["#f4bb55", "33"],
  personSolid: ["#f4bb55", "33"],
  run: ["#7db8fb", "94"],
  fail: ["#ff968a", "91"],
} as const;

/** Yellow on white is unreadable among the sixteen colours: words in amber stand on amber there. */
const light: Tokens = {
  ink: ["#14181d", ""],
  ink2: ["#474f59", ""],
  ink3: ["#646d78", "2"],
  line: ["#b4bbc3", "2"],
  selected: ["#eceff2", ""],
  person: ["#84500a", "30;43"],
  personSolid: ["#c37d0c", "33"],
  run: ["#155fb5", "34"],
  fail: ["#a92318", "31"],
};

type Codes = Readonly<Record<string, string>>;

function codesOf(tokens: Tokens, depth: Depth): Codes {
  const fg = (name: keyof Tokens) => (depth === "16" ? tokens[name][1] : colour(38, tokens[name][0], depth));
  const bg = (name: keyof Tokens) => (depth === "16" ? "" : colour(48, tokens[name][0], depth));
  const both = (...codes: string[]) => codes.filter(Boolean).join(";");
  return {
    dim: fg("ink3"),
    soft: fg("ink2"),
    line: fg("line"),
    bold: "1",
    italic: "3",
    struck: "9",
    heading: "1",
    bullet: fg("ink3"),
    code: depth === "16" ? "1" : both(fg("ink"), bg("selected")),
    link: "4",
    comment: both("3", fg("ink3")),
    string: fg("ink2"),
    number: "",
    keyword: "1",
    added: depth === "16" ? "1" : both(fg("ink"), bg("selected")),
    removed: fg("ink3"),
    // The words that differ inside of such a line.
    "added-word": both("1;4", depth === "16" ? "" : both(fg("ink"), bg("selected"))),
    "removed-word": fg("fail"),
    hunk: fg("ink3"),
    // The band has its own ink: the guess about the background may be wrong.
    person: depth === "16" ? "1" : both("1", fg("ink"), bg("selected")),
    accent: "1",
    ok: fg("ink3"),
    error: fg("fail"),
    stop: fg("person"),
    ask: both("1", fg("person")),
    frame: fg("personSolid"),
    chosen: "1",
    status: fg("ink3"),
    busy: fg("run"),
  };
}

function colour(kind: 38 | 48, hex: string, depth: Depth): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  return depth === "true" ? `${kind};2;${red};${green};${blue}` : `${kind};5;${nearest(red, green, blue)}`;
}

const STEPS = [0, 95, 135, 175, 215, 255];

/** The nearest of the 256 colours: of the cube, or of the greys. */
export function nearest(red: number, green: number, blue: number): number {
  const step = (value: number) =>
    STEPS.reduce((best, each, at) => (Math.abs(each - value) < Math.abs(STEPS[best]! - value) ? at : best), 0);
  const [r, g, b] = [step(red), step(green), step(blue)];
  const grey = Math.max(0, Math.min(23, Math.round(((red + green + blue) / 3 - 8) / 10)));
  const far = (x: number, y: number, z: number) => (x - red) ** 2 + (y - green) ** 2 + (z - blue) ** 2;
  const level = 8 + grey * 10;
  const cube = far(STEPS[r]!, STEPS[g]!, STEPS[b]!);
  return far(level, level, level) < cube ? 232 + grey : 16 + 36 * r + 6 * g + b;
}

const made = new Map<string, Codes>();

function codesFor({ theme, depth }: Look): Codes {
  if (theme === "none") return {};
  const key = `${theme} ${depth}`;
  const known = made.get(key) ?? codesOf(theme === "dark" ? dark : light, depth);
  made.set(key, known);
  return known;
}

/** A row as the terminal gets it. Its words must be harmless already. */
export function paint(row: Row, look: Look): string {
  const codes = codesFor(look);
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

/** By BELAY_THEME, NO_COLOR and COLORFGBG; dark if none of them says anything. */
export function lookOf(env: Environment): Look {
  return { theme: themeOf(env), depth: depthOf(env) };
}

function themeOf({ NO_COLOR, BELAY_THEME, COLORFGBG, TERM }: Environment): ThemeName {
  if ((NO_COLOR !== undefined && NO_COLOR !== "") || TERM === "dumb") return "none";
  if (BELAY_THEME === "light" || BELAY_THEME === "dark" || BELAY_THEME === "none") return BELAY_THEME;
  const background = Number(COLORFGBG?.split(";").at(-1) || Number.NaN);
  return background === 7 || background === 15 ? "light" : "dark";
}

function depthOf({ COLORTERM = "", TERM = "" }: Environment): Depth {
  if (/truecolor|24bit/i.test(COLORTERM) || /-direct$/.test(TERM)) return "true";
  return /256color|kitty|alacritty|foot|ghostty|wezterm/.test(TERM) ? "256" : "16";
}

/** The theme for the background that a terminal reports; undefined for any other report. */
export function themeOfReport(report: string): ThemeName | undefined {
  const found = /^\]11;rgba?:([0-9a-f]+)\/([0-9a-f]+)\/([0-9a-f]+)/i.exec(report);
  if (found === null) return undefined;
  const [red, green, blue] = found.slice(1, 4).map((part) => Number.parseInt(part, 16) / (16 ** part.length - 1));
  return 0.3 * red! + 0.59 * green! + 0.11 * blue! > 0.5 ? "light" : "dark";
}
