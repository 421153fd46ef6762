// Keys of the whole page. Layers lie on each other: the top one that names a key gets it. A single key never acts while a
// field has the focus, and none acts right after something to decide has appeared.

import { useEffect, useRef } from "react";

export type KeyMap = Readonly<Record<string, (event: KeyboardEvent) => void>>;

const SEQUENCE_MS = 1_000;
export const DEAD_MS = 300;

const layers: { current: KeyMap }[] = [];
let prefix = "";
let prefixAt = 0;
let deadUntil = 0;
let listening = false;

/** A card has appeared: single keys do nothing for a moment, so that a press meant for another page cannot decide. */
export function holdKeys(): void {
  deadUntil = performance.now() + DEAD_MS;
}

/**
 * Binds keys while the component is mounted. Names: "a", "?", "Escape", "mod+.", "mod+shift+.", "alt+Enter", and "g i" for
 * one after the other. `mod` is ⌘ on a Mac and Ctrl elsewhere.
 */
export function useKeys(keys: KeyMap): void {
  const layer = useRef(keys);
  layer.current = keys;
  useEffect(() => {
    listen();
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, []);
}

function listen(): void {
  if (listening) return;
  listening = true;
  window.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const name = nameOf(event);
    const isPlain = !/^(mod|alt)\+/.test(name);
    // The browser closes a dialog by Escape, and a menu closes itself.
    if (isPlain && isInDialog(event.target)) return;
    if (isPlain && name !== "Escape" && isTyping(event.target)) return;
    if (isPlain && name !== "Escape" && performance.now() < deadUntil) return;
    if (name.startsWith("Arrow") && movesByArrows(event.target)) return;
    // A held key repeats, and must not decide again and again.
    if (event.repeat && !/^[jk]$|^Arrow/.test(name)) return;
    const sequence = performance.now() - prefixAt < SEQUENCE_MS ? `${prefix} ${name}` : "";
    prefix = name;
    prefixAt = performance.now();
    for (const wanted of [sequence, name]) {
      const found = wanted === "" ? undefined : layers.findLast(({ current }) => Object.hasOwn(current, wanted));
      if (found === undefined) continue;
      event.preventDefault();
      prefix = "";
      found.current[wanted]!(event);
      return;
    }
  });
}

function nameOf(event: KeyboardEvent): string {
  const mod = event.metaKey || event.ctrlKey ? "mod+" : "";
  const alt = event.altKey ? "alt+" : "";
  // The shift of "?" is in its name already.
  const shift = event.shiftKey && (mod !== "" || event.key.length > 1) ? "shift+" : "";
  const key = event.code === "Period" && mod !== "" ? "." : event.key;
  return `${mod}${alt}${shift}${key.length === 1 ? key.toLowerCase() : key}`;
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const { tagName, isContentEditable } = target;
  if (tagName === "INPUT") return !["checkbox", "radio", "button"].includes((target as HTMLInputElement).type);
  return isContentEditable || tagName === "TEXTAREA" || tagName === "SELECT";
}

/** A group of choices: arrows move in it, not in the page. */
function movesByArrows(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input[type=radio], [role=tab], [role=listbox]") !== null;
}

function isInDialog(target: EventTarget | null): boolean {
  return (
    document.querySelector("dialog[open]") !== null ||
    (target instanceof HTMLElement && target.closest("[role=menu]") !== null)
  );
}

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** A key as people know it: ⌘K on a Mac, Ctrl K elsewhere. */
export function keyText(name: string): string {
  const names: Record<string, string> = isMac
    ? { mod: "⌘", alt: "⌥", shift: "⇧", Enter: "⏎", Escape: "Esc" }
    : { mod: "Ctrl", alt: "Alt", shift: "⇧", Enter: "⏎", Escape: "Esc" };
  return name
    .split("+")
    .map((part) => names[part] ?? (part.length === 1 && name.includes("+") ? part.toUpperCase() : part))
    .join(isMac ? "" : " ");
}
