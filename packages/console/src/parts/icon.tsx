// One set of icons in a 16 px box, drawn with one stroke. Meaning is in the word beside each: icons are hidden from readers.

const shapes = {
  inbox: <path d="M2 9.5h3.2l1 2h3.6l1-2H14M2 9.5 4 3h8l2 6.5V13H2z" />,
  threads: <path d="M2.5 4h11M2.5 8h11M2.5 12h7" />,
  agent: (
    <>
      <rect x="3" y="5" width="10" height="8" rx="2" />
      <path d="M8 2.5V5M6 8.5v1M10 8.5v1" />
    </>
  ),
  shield: (
    <>
      <path d="M8 2 13 4v4c0 3-2.2 5-5 6-2.8-1-5-3-5-6V4z" />
      <path d="m6 8 1.5 1.5 2.7-3" />
    </>
  ),
  play: <path d="M5 3.5v9L12.5 8z" fill="currentColor" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4" />
      <path d="m10 10 3.5 3.5" />
    </>
  ),
  theme: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 2.5v11a5.5 5.5 0 0 0 0-11z" fill="currentColor" stroke="none" />
    </>
  ),
  down: <path d="m4.5 6.5 3.5 3.5 3.5-3.5" />,
  left: <path d="M9.5 4.5 6 8l3.5 3.5" />,
  right: <path d="m6.5 4.5 3.5 3.5-3.5 3.5" />,
  check: <path d="m3.5 8.5 3 3 6-7" />,
  stop: <rect x="4" y="4" width="8" height="8" rx="1.5" fill="currentColor" />,
  asks: (
    <>
      <circle cx="8" cy="8" r="6" fill="currentColor" />
      <path d="M6.2 6.3c.2-2.2 3.7-2.1 3.6 0 0 1.4-1.8 1.3-1.8 2.7M8 11.2h.01" stroke="var(--surface)" />
    </>
  ),
  clock: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 5v3.2l2 1.3" />
    </>
  ),
  fork: (
    <>
      <circle cx="4.5" cy="3.5" r="1.5" />
      <circle cx="4.5" cy="12.5" r="1.5" />
      <circle cx="11.5" cy="5.5" r="1.5" />
      <path d="M4.5 5v6M11.5 7c0 2.5-7 1.5-7 4" />
    </>
  ),
  late: (
    <>
      <path d="M13.5 8A5.5 5.5 0 1 1 8 2.5" />
      <path d="M8 5v3l2 1.5M11 2.5h.01M13 4.5h.01" />
    </>
  ),
  none: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="m4.5 11.5 7-7" />
    </>
  ),
  steer: <path d="M3 3v4.5A2.5 2.5 0 0 0 5.5 10H13M9.5 6.5 13 10l-3.5 3.5" />,
  queue: <path d="M3 4h10M3 8h10M3 12h4M11 10.5v4M9 12.5h4" />,
  drift: (
    <>
      <path d="M2.5 10.5c2-4 3.5-4 5.5-1.5s3.5 2 5.5-2" />
      <path d="M2.5 13.5h11" strokeDasharray="1.5 2.5" />
    </>
  ),
  stopped: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M6.3 6v4M9.7 6v4" />
    </>
  ),
  held: (
    <>
      <rect x="3" y="3" width="10" height="10" rx="2.5" />
      <path d="M6.5 6v4M9.5 6v4" />
    </>
  ),
  pause: <path d="M6 4v8M10 4v8" strokeWidth="2" />,
  node: <rect x="2.5" y="5" width="11" height="6" rx="2" />,
  crash: <path d="M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z" />,
  damaged: (
    <>
      <path d="M3.5 2h6l3 3v2l-2 1.5 1 2-1.5 1 .5 2.5h-7z" />
      <path d="M6 7l1.5 1.5L6 10" />
    </>
  ),
  out: <path d="M6 3.5H3.5v9h9V10M9 3.5h3.5V7M12.5 3.5l-5 5" />,
  edit: <path d="M3 13h2.5L13 5.5 10.5 3 3 10.5z" />,
  undo: <path d="M6 3.5l-3 3 3 3M3 6.5h6a3.5 3.5 0 0 1 0 7H6.5" />,
  warning: (
    <>
      <path d="M8 2.5 14 13H2z" />
      <path d="M8 6.5V9M8 11h.01" />
    </>
  ),
  person: (
    <>
      <circle cx="8" cy="5.5" r="2.5" />
      <path d="M3 13.5c.5-3 2.5-4 5-4s4.5 1 5 4" />
    </>
  ),
  unknown: (
    <>
      <circle cx="8" cy="8" r="5.5" strokeDasharray="2.2 2.2" />
      <path d="M6.7 6.7c.2-1.6 2.7-1.5 2.6 0 0 1-1.3 1-1.3 2M8 10.7h.01" />
    </>
  ),
  plus: <path d="M8 3.5v9M3.5 8h9" />,
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 5.5v-3h-8v8h3" />
    </>
  ),
  lock: (
    <>
      <rect x="3.5" y="7" width="9" height="6.5" rx="1.5" />
      <path d="M5.5 7V5a2.5 2.5 0 0 1 5 0v2" />
    </>
  ),
  offline: (
    <path d="M2.5 6.5a8 8 0 0 1 3-1.8M13.5 6.5a8 8 0 0 0-5-2.2M5 9.2a4.5 4.5 0 0 1 2-1.1M8 12h.01M2.5 2.5l11 11" />
  ),
  again: <path d="M13 8a5 5 0 1 1-1.5-3.5L13 6M13 2.5V6H9.5" />,
  cross: <path d="m4 4 8 8M12 4l-8 8" />,
  more: <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" strokeWidth="2" />,
  tag: <path d="M2.5 3v4.5l6 6 5-5-6-6zM5.5 5.5h.01" />,
  save: <path d="M8 2.5v7.5M5 7l3 3 3-3M3 13.5h10" />,
  details: <path d="M2.5 3h11v10h-11zM10 3v10" />,
  effect: <path d="M8 2l6 6-6 6-6-6z" fill="currentColor" stroke="none" />,
  model: <path d="M8 2.5l1.4 3.6 3.6 1.4-3.6 1.4L8 12.5 6.6 8.9 3 7.5l3.6-1.4z" />,
} as const;

export type IconName = keyof typeof shapes;

export function Icon({ name, small = false }: { name: IconName; small?: boolean }) {
  return (
    <svg className={small ? "i i-12" : "i"} viewBox="0 0 16 16" aria-hidden="true">
      {shapes[name]}
    </svg>
  );
}
