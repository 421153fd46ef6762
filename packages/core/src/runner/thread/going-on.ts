/**
 * Somebody goes on by a handle: from when that is asked until the handle is found good and the stretch begins, or it is
 * refused. A stop that comes meanwhile is for what that begins.
 */
export class GoingOn {
  #isOver = false;
  readonly #waiting: (() => void)[] = [];

  /** Calls back in the tick in which it begins: before anything of it happens. */
  whenOver(over: () => void): void {
    if (this.#isOver) over();
    else this.#waiting.push(over);
  }

  over(): void {
    this.#isOver = true;
    for (const over of this.#waiting.splice(0)) over();
  }
}
