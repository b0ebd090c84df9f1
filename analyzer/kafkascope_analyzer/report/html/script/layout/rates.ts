// Where the slots of request rates are, and how tall.

import type { RateSlot } from "../facts/story.d.ts";
import { xOf } from "./scale.ts";
import { VIEW } from "./view.ts";

// The part of a slot that is in view, on the canvas; null where none is.
export function boxOf(slot: RateSlot, width: number) {
  if (slot.to_ns <= VIEW.from || slot.from_ns >= VIEW.to) return null;
  const x = Math.max(0, xOf(slot.from_ns, width));
  return { x, width: Math.max(1, Math.min(width, xOf(slot.to_ns, width)) - x - 0.6) };
}

// Grows with the square root, and is never so low that it is not seen.
export function heightOf(value: number, most: number, tallest: number) {
  return Math.max(1.5, Math.sqrt(value / most) * tallest);
}

// The place of the last slot that begins at this time or before it; the first where all begin later.
export function slotAt(slots: RateSlot[], ns: number) {
  return Math.max(
    0,
    slots.findLastIndex((slot) => slot.from_ns <= ns),
  );
}
