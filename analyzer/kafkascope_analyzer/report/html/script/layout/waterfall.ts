// Where the steps of a start are in its waterfall.

import type { Start, StartStep } from "../facts/story.d.ts";

// A step whose time is known.
export type DrawnStep = StartStep & { start_ns: number };

export interface Scale {
  from: number;
  to: number;
  x: (ns: number) => number;
}

export const WATERFALL_STEP = 18;

// Scales time so that the start fills the width: up to ready, or to the end of its last step.
export function waterfallScale(start: Start, steps: DrawnStep[]): Scale {
  const from = Math.min(start.start_ns ?? Infinity, ...steps.map((step) => step.start_ns));
  const to = start.ready_ns ?? Math.max(...steps.map((step) => step.end_ns ?? step.start_ns), from + 1000);
  return { from, to, x: (ns: number) => 250 + Math.min(Math.max((ns - from) / Math.max(1, to - from), 0), 1.02) * 640 };
}

// Places of a step: its line, where the client's wait, the network's and the broker's part begin, and its end.
export function placeOf(step: DrawnStep, n: number, { x }: Scale) {
  const end = step.end_ns ?? step.start_ns;
  const split = Math.max(step.start_ns, end - (step.broker_us || 0) * 1000);
  const waited = step.on_critical_path ? step.start_ns - (step.wait_us || 0) * 1000 : step.start_ns;
  return { y: 20 + n * WATERFALL_STEP, start: x(step.start_ns), end: x(end), split: x(split), waited: x(waited) };
}
