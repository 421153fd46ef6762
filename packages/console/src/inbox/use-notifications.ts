// Notifications of the browser about requests that this person may answer, if the person has asked for them. Only for requests
// that are raised while the page is out of sight: a visible one needs no notification.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useLocation } from "wouter";
import { useSettings } from "../look/settings.ts";
import { seenText } from "../parts/seen-text.tsx";
import { canNotify } from "../shell/notify.ts";
import { useTexts } from "../texts/texts.ts";
import { mine } from "../wire/read.ts";
import { titleOf } from "./ask-words.ts";

export function useNotifications(): void {
  const t = useTexts();
  const [, go] = useLocation();
  const { notify } = useSettings();
  const { data } = useQuery({ ...mine, enabled: notify });
  const known = useRef<Set<string>>(undefined);
  useEffect(() => {
    if (!notify || data === undefined) return;
    const before = known.current;
    known.current = new Set(data.items.map(({ id }) => id));
    if (before === undefined || !document.hidden || !canNotify() || Notification.permission !== "granted") return;
    for (const ask of data.items) {
      if (before.has(ask.id)) continue;
      // The tag keeps several tabs of one browser from saying the same twice.
      const shown = new Notification(seenText(titleOf(t, ask)), { body: ask.by, tag: `belay-${ask.id}` });
      shown.onclick = () => {
        window.focus();
        go(`/inbox/${encodeURIComponent(ask.id)}`);
        shown.close();
      };
    }
  }, [notify, data, t, go]);
}
