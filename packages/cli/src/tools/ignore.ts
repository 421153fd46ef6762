// The files that .gitignore files leave out. The rules of gitignore(5): a later pattern is stronger, `!` takes back, a
// pattern with a slash in it is anchored in the folder of its file, one with a slash at its end is for folders.

export interface IgnoreRule {
  readonly pattern: RegExp;
  readonly takesBack: boolean;
  readonly foldersOnly: boolean;
}

/** `base` is the folder of the file, relative, "" for the root. */
export function readIgnore(text: string, base: string): IgnoreRule[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const trimmed = line.replace(/(?<!\\)\s+$/, "");
    if (trimmed === "" || trimmed.startsWith("#") || trimmed.length > 500) return [];
    const takesBack = trimmed.startsWith("!");
    const body = trimmed.slice(takesBack ? 1 : 0).replace(/^\\([#!])/, "$1");
    const foldersOnly = body.endsWith("/");
    const glob = foldersOnly ? body.slice(0, -1) : body;
    if (glob === "") return [];
    const anchored = glob.includes("/");
    const prefix = base === "" ? "" : `${literal(base)}/`;
    const source = `^${prefix}${anchored ? "" : "(?:.*/)?"}${toPattern(glob.replace(/^\//, ""))}$`;
    try {
      return [{ pattern: new RegExp(source, "s"), takesBack, foldersOnly }];
    } catch {
      return [];
    }
  });
}

export function isIgnored(rules: readonly IgnoreRule[], path: string, isFolder: boolean): boolean {
  for (let at = rules.length - 1; at >= 0; at--) {
    const { pattern, takesBack, foldersOnly } = rules[at]!;
    if ((!foldersOnly || isFolder) && pattern.test(path)) return !takesBack;
  }
  return false;
}

function toPattern(glob: string): string {
  let out = "";
  for (let at = 0; at < glob.length; at++) {
    const char = glob[at]!;
    if (char === "*") {
      let stars = 1;
      while (glob[at + stars] === "*") stars++;
      const before = at === 0 || glob[at - 1] === "/";
      const after = glob[at + stars];
      if (stars >= 2 && before && after === "/") {
        out += "(?:[^/]+/)*";
        at += stars;
      } else if (stars >= 2 && before && after === undefined) {
        out += ".+";
        at += stars - 1;
      } else {
        out += "[^/]*";
        at += stars - 1;
      }
    } else if (char === "?") {
      out += "[^/]";
    } else if (char === "[") {
      const end = glob.indexOf("]", at + 2);
      if (end < 0) out += "\\[";
      else {
        out += `[${glob
          .slice(at + 1, end)
          .replace(/^!/, "^")
          .replace(/[\\[]/g, "\\$&")}]`;
        at = end;
      }
    } else if (char === "\\" && at + 1 < glob.length) {
      out += literal(glob[++at]!);
    } else {
      out += literal(char);
    }
  }
  return out;
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
