// The acts of a newcomer in the console, from the first look on: sees a run stream, stops it, reads the receipt, continues,
// approves an edited call, answers a question, forks with the effects in view. By mouse, by keys alone, or by finger; in
// either language.

import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { en } from "../texts/en.ts";
import type { Texts } from "../texts/texts.ts";
import { zh } from "../texts/zh.ts";

export interface Way {
  readonly hand: "mouse" | "keys" | "finger";
  readonly language: "en" | "zh";
  readonly theme: "light" | "dark";
}

const escaped = (words: string) => new RegExp(`^${words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`);

export class Newcomer {
  readonly #page: Page;
  readonly #way: Way;
  readonly #t: Texts;

  constructor(page: Page, way: Way) {
    this.#page = page;
    this.#way = way;
    this.#t = way.language === "zh" ? zh : en;
  }

  /** The button whose words begin so. */
  #button(words: string): Locator {
    return this.#page.getByRole("button", { name: escaped(words) }).first();
  }

  #nav(words: string): Locator {
    const name = escaped(words);
    return this.#page.getByRole("navigation", { name: this.#t.nav.main }).getByRole("link", { name });
  }

  /** Presses a control: with the pointer, or by Tab and `key`. */
  async #press(what: Locator, key = "Enter"): Promise<void> {
    const { hand } = this.#way;
    await what.waitFor();
    if (hand === "mouse") return what.click();
    if (hand === "finger") return what.tap();
    await this.#tabTo(what);
    await this.#page.keyboard.press(key);
  }

  async #tabTo(what: Locator): Promise<void> {
    for (let presses = 0; presses < 80; presses += 1) {
      if (await what.evaluate((element) => element === document.activeElement)) return;
      await this.#page.keyboard.press("Tab");
    }
    throw new Error(`Tab never reaches ${what}`);
  }

  async #fill(field: Locator, text: string): Promise<void> {
    if (this.#way.hand !== "keys") return field.fill(text);
    await this.#tabTo(field);
    await this.#page.keyboard.press("Control+a");
    await this.#page.keyboard.type(text);
  }

  async startsAndSeesItStream(): Promise<void> {
    const page = this.#page;
    if (this.#way.hand === "keys") {
      await page.waitForTimeout(400);
      await page.keyboard.press("g");
      await page.keyboard.press("t");
      await page.waitForURL(/\/threads$/);
      await page.keyboard.press("Control+k");
      await page.keyboard.type(this.#t.threads.start);
      await page.keyboard.press("Enter");
    } else {
      await this.#press(this.#nav(this.#t.nav.threads));
      await this.#press(this.#button(this.#t.threads.start));
    }
    await this.#fill(page.getByLabel(this.#t.threads.input), "Plan two days for us.");
    if (this.#way.hand === "keys") await page.keyboard.press("Control+Enter");
    else await this.#press(page.getByRole("dialog").getByRole("button", { name: escaped(this.#t.threads.begin) }));
    // It grows while the person looks.
    const answer = page.locator(".msg .md").last();
    await page.getByText("Reintal").first().waitFor();
    const before = (await answer.innerText()).length;
    await expect.poll(async () => (await answer.innerText()).length).toBeGreaterThan(before);
  }

  async stopsAndReadsTheReceipt(): Promise<void> {
    const page = this.#page;
    if (this.#way.hand === "keys") await page.keyboard.press("Control+.");
    else await this.#press(page.locator(".bar").getByRole("button", { name: escaped(this.#t.stop.stop) }));
    const receipt = page.getByRole("region", { name: this.#t.stop.receiptOf });
    await receipt.waitFor();
    await expect.poll(() => receipt.innerText()).toContain(this.#t.stop.stoppedBy("anna"));
    expect(await receipt.innerText()).toContain(this.#t.stop.kept);
    expect(await receipt.innerText()).toMatch(/\d+\s*(ms|毫秒|s|秒)/);
    await page.locator(".badge", { hasText: this.#t.state.stopped }).first().waitFor();
  }

  async continuesFromThere(): Promise<void> {
    const page = this.#page;
    const shown = await page.locator(".msg .md").last().innerText();
    if (this.#way.hand === "keys") await page.keyboard.press("c");
    else await this.#press(this.#button(this.#t.compose.continue));
    await page.getByText(this.#t.thread.writing).first().waitFor();
    // The cut answer stays exactly as it was shown.
    expect(await page.locator(".msg .md").allInnerTexts()).toContain(shown);
    if (this.#way.hand === "keys") await page.keyboard.press("Control+.");
    else await this.#press(page.locator(".bar").getByRole("button", { name: escaped(this.#t.stop.stop) }));
    await page.getByRole("region", { name: this.#t.stop.receiptOf }).nth(1).waitFor();
  }

  /** Goes to the card of a request through the inbox. */
  async #openCard(title: RegExp): Promise<void> {
    const page = this.#page;
    if (this.#way.hand === "keys") {
      await page.keyboard.press("g");
      await page.keyboard.press("i");
    } else await this.#press(this.#nav(this.#t.nav.inbox));
    await page.waitForURL(/\/inbox/);
    await this.#press(
      page.getByRole("navigation", { name: this.#t.inbox.requests }).getByRole("link", { name: title }),
    );
    await page.locator("[data-card-title]").filter({ hasText: title }).waitFor();
    await page.waitForTimeout(400);
  }

  async approvesAnEditedCall(): Promise<void> {
    const page = this.#page;
    await this.#openCard(/refund/);
    if (this.#way.hand === "keys") await page.keyboard.press("e");
    else await this.#press(this.#button(this.#t.card.edit));
    await this.#fill(page.getByLabel("euros"), "90");
    const approve = this.#button(this.#t.card.approveEdited(1));
    if (this.#way.hand === "keys") {
      // Neither key approves, also on the button itself.
      await this.#tabTo(approve);
      await page.keyboard.press("Enter");
      await page.keyboard.press("Space");
      expect(await this.#button(this.#t.card.undo).count()).toBe(0);
      await page.keyboard.press("a");
      await this.#press(this.#button(this.#t.card.sendNow));
    } else {
      await this.#press(approve);
      await this.#press(this.#button(this.#t.card.sendNow));
    }
    await page.getByRole("heading", { name: escaped(this.#t.decided.approved("anna")) }).waitFor();
    await this.#press(page.getByRole("link", { name: escaped(this.#t.card.openThread) }).last());
    // The model's arguments beside those that ran, and the person between them.
    await page.getByText(this.#t.call.changedBy("anna")).waitFor();
    const call = page.locator(".call", { hasText: "refund" }).first();
    expect(await call.innerText()).toMatch(/900\s+90/);
    await call.getByText(this.#t.call.askedByRule("ask-over-50")).waitFor();
  }

  async answersAQuestion(): Promise<void> {
    const page = this.#page;
    await this.#openCard(/Which room/);
    const answer = page.getByRole("button", { name: this.#t.card.answer, exact: true });
    expect(await answer.isDisabled()).toBe(true);
    const room = page.getByLabel("Waxenstein, floor 4");
    if (this.#way.hand === "keys") {
      // Tab reaches the group, arrows move in it.
      await this.#tabTo(page.getByLabel("Alpspitze, floor 2"));
      await page.keyboard.press("ArrowDown");
    } else await this.#press(room);
    expect(await room.isChecked()).toBe(true);
    await this.#press(answer);
    await this.#press(this.#button(this.#t.card.sendNow));
    await page.getByRole("heading", { name: escaped(this.#t.decided.responded("anna")) }).waitFor();
    await this.#press(page.getByRole("link", { name: escaped(this.#t.card.openThread) }).last());
    await page.getByText("Booked. I sent the invitation.").waitFor();
  }

  async forksWithItsEffectsSeen(): Promise<void> {
    const page = this.#page;
    if (this.#way.hand === "keys") {
      await page.keyboard.press("Control+k");
      await page.keyboard.type("Which hut");
      await expect.poll(() => page.getByRole("option").first().innerText()).toMatch(/Which hut/);
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/threads\/zugspitze$/);
      await page.getByText("The hut is booked for two").waitFor();
      await page.keyboard.press("f");
    } else {
      const isThere = () =>
        page.waitForURL(/\/threads\/zugspitze$/, { timeout: 5_000 }).then(
          () => true,
          () => false,
        );
      // Rows move while threads run: a person who meets another row goes back and tries again.
      do {
        await this.#press(this.#nav(this.#t.nav.threads));
        await this.#press(page.getByRole("link", { name: /Which hut/ }));
      } while (!(await isThere()));
      await page.getByText("The hut is booked for two").waitFor();
      const fork = page.locator(".bar").getByRole("link", { name: escaped(this.#t.thread.fork) });
      if (await fork.isVisible()) await this.#press(fork);
      else {
        await this.#press(this.#button(this.#t.all.more));
        await this.#press(page.getByRole("menuitem", { name: escaped(this.#t.thread.fork) }));
      }
    }
    await page.getByText(this.#t.fork.notUndone).waitFor();
    await page.getByText("book", { exact: true }).waitFor();
    const fork = this.#button(this.#t.fork.onlyFork);
    expect(await fork.isDisabled()).toBe(true);
    await this.#press(page.getByLabel(this.#t.fork.seen(2)), "Space");
    await this.#press(fork);
    await page.getByText(this.#t.thread.forkedFrom).first().waitFor();
    expect(page.url()).not.toContain("/threads/zugspitze");
  }
}
