// What the reader looks at: the stretch of time, and what is open.

import { END } from "../facts/data.ts";

interface View {
  from: number;
  to: number;
  open: Set<number>;
  request: number;
  client: number;
  at: number | null;
  brokers: boolean;
}

export const VIEW: View = { from: 0, to: 1, open: new Set(), request: -1, client: -1, at: null, brokers: false };
const VIEW_LISTENERS: (() => void)[] = [];
const SHORTEST_VIEW = 2000;

export function onView(listener: () => void) {
  VIEW_LISTENERS.push(listener);
}

// Says that what is in view changed, however slightly; the listeners decide when to draw it.
export function viewChanged() {
  for (const listener of VIEW_LISTENERS) listener();
}

// Shows from .. to (ns), moved so that it stays within the capture and is not too short.
export function setView(from: number, to: number) {
  const length = Math.min(END, Math.max(SHORTEST_VIEW, to - from));
  from = Math.min(Math.max(0, from), END - length);
  VIEW.from = from;
  VIEW.to = from + length;
  viewChanged();
}

export function zoom(factor: number, around: number) {
  setView(around - (around - VIEW.from) * factor, around + (VIEW.to - around) * factor);
}

export function pan(share: number) {
  const by = (VIEW.to - VIEW.from) * share;
  setView(VIEW.from + by, VIEW.to + by);
}

// Shows a stretch with room on both sides.
export function showStretch(from: number, to: number) {
  const room = Math.max((to - from) * 0.25, 2e6);
  setView(from - room, to + room);
}

export function centre(ns: number) {
  const half = (VIEW.to - VIEW.from) / 2;
  setView(ns - half, ns + half);
}
