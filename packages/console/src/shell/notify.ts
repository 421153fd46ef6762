// The choice to be notified, which needs the permission of the browser.

import { change } from "../look/settings.ts";
import { toast } from "../parts/toasts.tsx";
import type { Texts } from "../texts/texts.ts";

export const canNotify = (): boolean => "Notification" in window;

/** Turns notifications on, with the permission of the browser, or off. */
export async function setNotify(t: Texts, on: boolean): Promise<void> {
  if (!on) return change({ notify: false });
  const allowed = canNotify() && (await Notification.requestPermission()) === "granted";
  change({ notify: allowed });
  toast(
    allowed ? { icon: "check", words: t.nav.notifyOn } : { icon: "warning", isFail: true, words: t.nav.notifyRefused },
  );
}
