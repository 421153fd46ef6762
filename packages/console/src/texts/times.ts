// Times and durations in the language of the page, by Intl.

import { type Language, useSettings } from "../look/settings.ts";

const locale = (language: Language) => (language === "zh" ? "zh-CN" : "en-GB");

export interface Times {
  /** 14:02; with the day if it is not today. */
  clock(at: number): string;
  /** 14:02:07 */
  exact(at: number): string;
  /** 14:02:07.311 */
  precise(at: number): string;
  full(at: number): string;
  /** "310 ms", "0.9 s", "1 h 58 min": two units at most. */
  lasting(ms: number): string;
  /** The age of something: "now", "3 min", "2 d". */
  ago(ms: number): string;
  number(value: number): string;
}

function timesOf(language: Language): Times {
  const at = (options: Intl.DateTimeFormatOptions) => {
    const format = new Intl.DateTimeFormat(locale(language), options);
    return (time: number) => format.format(time);
  };
  const hm = at({ hour: "2-digit", minute: "2-digit" });
  const day = at({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const hms = at({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const full = at({ dateStyle: "medium", timeStyle: "medium" });
  const number = new Intl.NumberFormat(locale(language));
  const words =
    language === "zh"
      ? { ms: "毫秒", s: "秒", min: "分", h: "小时", d: "天", now: "刚刚" }
      : { ms: "ms", s: "s", min: "min", h: "h", d: "d", now: "now" };
  const unit = (value: number | string, name: string) => `${value} ${name}`;
  const lasting = (ms: number): string => {
    if (ms < 1_000) return unit(Math.max(0, Math.round(ms)), words.ms);
    const s = ms / 1_000;
    if (s < 10) return unit(s.toFixed(1), words.s);
    if (s < 60) return unit(Math.round(s), words.s);
    const min = Math.floor(s / 60);
    if (min < 10)
      return Math.round(s % 60) === 0
        ? unit(min, words.min)
        : `${unit(min, words.min)} ${unit(Math.round(s % 60), words.s)}`;
    if (min < 60) return unit(min, words.min);
    const h = Math.floor(min / 60);
    if (h < 24) return min % 60 === 0 ? unit(h, words.h) : `${unit(h, words.h)} ${unit(min % 60, words.min)}`;
    const d = Math.floor(h / 24);
    return d < 10 && h % 24 !== 0 ? `${unit(d, words.d)} ${unit(h % 24, words.h)}` : unit(d, words.d);
  };
  return {
    clock: (time) => (new Date(time).toDateString() === new Date().toDateString() ? hm(time) : day(time)),
    exact: hms,
    precise: (time) => `${hms(time)}.${String(Math.floor(time % 1_000)).padStart(3, "0")}`,
    full,
    lasting,
    ago(ms) {
      if (ms < 5_000) return words.now;
      if (ms < 60_000) return unit(Math.floor(ms / 1_000), words.s);
      if (ms < 3_600_000) return unit(Math.floor(ms / 60_000), words.min);
      if (ms < 86_400_000) return unit(Math.floor(ms / 3_600_000), words.h);
      return unit(Math.floor(ms / 86_400_000), words.d);
    },
    number: (value) => number.format(value),
  };
}

const times: Readonly<Record<Language, Times>> = { en: timesOf("en"), zh: timesOf("zh") };

export function useTimes(): Times {
  return times[useSettings().language];
}
