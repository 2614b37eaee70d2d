/** Drawn on a 24 grid with one stroke, so that they sit in text of any size. */
const PATHS = {
  alert: "M12 3 2.5 20h19L12 3zM12 10v4M12 17.2v.1",
  arrow: "M4 12h15M13 6l6 6-6 6",
  back: "M20 12H5M11 6l-6 6 6 6",
  box: "M12 3l8 4.5v9L12 21l-8-4.5v-9L12 3zM4 7.5l8 4.5 8-4.5M12 12v9",
  check: "M5 12.5l4.5 4.5L19 7.5",
  clock: "M12 3a9 9 0 100 18 9 9 0 000-18zM12 7v5l3.5 2",
  close: "M6 6l12 12M18 6L6 18",
  code: "M8 7l-5 5 5 5M16 7l5 5-5 5M14 4l-4 16",
  contrast: "M12 3a9 9 0 100 18 9 9 0 000-18zM12 3v18M12 8l7-2M12 13l8.8-1M12 18l6-1.2",
  eye: "M2 12s3.6-7 10-7 10 7 10 7-3.6 7-10 7S2 12 2 12zM12 9a3 3 0 100 6 3 3 0 000-6z",
  "eye-off":
    "M4 4l16 16M9.5 5.4A9.7 9.7 0 0112 5c6.4 0 10 7 10 7a17 17 0 01-3 3.8M6 7.5A16 16 0 002 12s3.6 7 10 7a9 9 0 003.5-.7",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  gateway: "M4 21V5l8-2 8 2v16M4 21h16M9 21v-9h6v9",
  globe: "M12 3a9 9 0 100 18 9 9 0 000-18zM3 12h18M12 3c5 5 5 13 0 18M12 3c-5 5-5 13 0 18",
  graph:
    "M6 12L18 6M6 12l12 6M6 9.5a2.5 2.5 0 100 5 2.5 2.5 0 000-5zM18 3.5a2.5 2.5 0 100 5 2.5 2.5 0 000-5zM18 15.5a2.5 2.5 0 100 5 2.5 2.5 0 000-5z",
  group: "M3 4h18v7H3zM3 15h18v5H3z",
  history: "M4 5v5h5M4.5 10A8 8 0 1112 20a8 8 0 01-7-4M12 8v4.5l3 1.5",
  info: "M12 3a9 9 0 100 18 9 9 0 000-18zM12 11v6M12 7.4v.1",
  list: "M4 6h16M4 12h16M4 18h10",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 017 0v3",
  unlock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 016.8-1.2",
  minus: "M5 12h14",
  moon: "M20 14.5A8.5 8.5 0 019.5 4a8.5 8.5 0 1010.5 10.5z",
  pause: "M8 5v14M16 5v14",
  play: "M7 4.5l12 7.5-12 7.5z",
  plus: "M12 5v14M5 12h14",
  power: "M12 3v9M7 6.3a8 8 0 1010 0",
  refresh: "M20 5v5h-5M4 19v-5h5M19.4 10A8 8 0 005.6 7M4.6 14a8 8 0 0013.8 3",
  search: "M11 4a7 7 0 100 14 7 7 0 000-14zM16 16l4.5 4.5",
  server: "M4 4h16v7H4zM4 13h16v7H4zM8 7.5h.1M8 16.5h.1",
  sliders: "M4 7h10M18 7h2M4 17h4M12 17h8M16 5v4M10 15v4",
  sun: "M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5",
  undo: "M9 6L4 11l5 5M4 11h10a6 6 0 010 12",
  wand: "M5 19L15 9M14 4v3M19 9h-3M18 5l-2 2M20 14v2",
  zap: "M13 2L4 14h7l-1 8 9-12h-7l1-8z",
} as const;

export type IconName = keyof typeof PATHS;

/** Always beside a text or inside something with a label: hidden from screen readers. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
