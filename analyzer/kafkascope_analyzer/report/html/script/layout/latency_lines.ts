// Where the lines of a broker's latency over time go: time from left to right, latency upwards on a logarithmic scale.

import type { LatencySlot } from "../facts/story.d.ts";

export interface Frame {
  width: number;
  height: number;
  left: number;
  top: number;
  end: number;
  least: number;
  most: number;
}

// Least and most of all latencies, as whole powers of ten of microseconds, so that brokers have one scale.
export function scaleOf(slots: LatencySlot[]): [number, number] {
  const lowest = slots.reduce((least, slot) => Math.min(least, Math.max(slot.p50_us, 1)), Number.POSITIVE_INFINITY);
  const highest = slots.reduce((most, slot) => Math.max(most, slot.p99_us), 1);
  const least = 10 ** Math.floor(Math.log10(Math.min(lowest, highest)));
  return [least, Math.max(10 ** Math.ceil(Math.log10(highest)), 10 * least)];
}

export function xOf(ns: number, frame: Frame) {
  return frame.left + (Math.min(Math.max(ns, 0), frame.end) / frame.end) * frame.width;
}

export function yOf(us: number, frame: Frame) {
  const share = Math.log10(Math.max(us, frame.least) / frame.least) / Math.log10(frame.most / frame.least);
  return frame.top + (1 - Math.min(share, 1)) * frame.height;
}

// The powers of ten that have a line.
export function ticksOf({ least, most }: Frame) {
  const ticks = [];
  for (let us = least; us <= most; us *= 10) ticks.push(us);
  return ticks;
}

// The path of a percentile: a step for each slot, and a gap where no request was sent.
export function pathOf(slots: LatencySlot[], of: (slot: LatencySlot) => number, frame: Frame) {
  let before = -1;
  const parts = slots.map((slot) => {
    const y = yOf(of(slot), frame).toFixed(1);
    const [from, to] = [xOf(slot.from_ns, frame).toFixed(1), xOf(slot.to_ns, frame).toFixed(1)];
    const joined = slot.from_ns === before;
    before = slot.to_ns;
    return joined ? `V${y}H${to}` : `M${from} ${y}H${to}`;
  });
  return parts.join("");
}
