// Only the rows that are seen are in the page. All rows have one height, so two spacers stand for the others.

import { type RefObject, useEffect, useState } from "react";

const BEYOND = 8;

export interface Window {
  readonly from: number;
  readonly to: number;
}

export function useWindow(scroller: RefObject<HTMLElement | null>, count: number, height: number): Window {
  const [seen, setSeen] = useState({ top: 0, height: 1_000 });
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const read = () => setSeen({ top: element.scrollTop, height: element.clientHeight });
    read();
    element.addEventListener("scroll", read, { passive: true });
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", read);
      observer.disconnect();
    };
  }, [scroller]);
  const from = Math.max(0, Math.floor(seen.top / height) - BEYOND);
  const to = Math.min(count, Math.ceil((seen.top + seen.height) / height) + BEYOND);
  return { from, to };
}
