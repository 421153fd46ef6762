// A long list of threads after a change. Changed threads come first, so the first page says all; a list of many pages is not
// read again.

import type { InfiniteData } from "@tanstack/react-query";
import type { Page, ThreadRow } from "./shapes.ts";

type List = InfiniteData<Page<ThreadRow>>;

/**
 * The pages with a new `head` before them. A thread that `changed` and is not in the head matches the filter no more. If
 * everything in the head changed, more than a page may have: the list begins anew with the head.
 */
export function mergeList({ pages, pageParams }: List, head: Page<ThreadRow>, changed: ReadonlySet<string>): List {
  const now = new Set(head.items.map(({ threadId }) => threadId));
  const reaches = head.items.some(({ threadId }) => !changed.has(threadId));
  const [first, ...others] = pages.map(({ items, ...page }) => ({
    ...page,
    items: items.filter(({ threadId }) => !now.has(threadId) && !changed.has(threadId)),
  }));
  // All that there is may also fit into one page: rows that are not in it are gone.
  if (first === undefined || !reaches || head.next === undefined)
    return { pages: [head], pageParams: pageParams.slice(0, 1) };
  return { pages: [{ ...first, items: [...head.items, ...first.items] }, ...others], pageParams };
}
