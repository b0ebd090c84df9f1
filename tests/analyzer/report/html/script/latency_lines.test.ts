// Where the lines of latency over time go.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  pathOf,
  scaleOf,
  ticksOf,
  xOf,
  yOf,
} from "../../../../../analyzer/kafkascope_analyzer/report/html/script/layout/latency_lines.ts";

const slot = (from: number, to: number, p50: number, p99: number) => ({
  from_ns: from,
  to_ns: to,
  n: 1,
  p50_us: p50,
  p99_us: p99,
  when: "",
});
const FRAME = { width: 100, height: 60, left: 10, top: 5, end: 1000, least: 10, most: 10_000 };

test("the scale is of whole powers of ten around all latencies", () => {
  assert.deepEqual(scaleOf([slot(0, 1, 250, 4000), slot(1, 2, 90, 12_000)]), [10, 100_000]);
  assert.deepEqual(scaleOf([slot(0, 1, 0, 0)]), [1, 10]);
  assert.deepEqual(ticksOf(FRAME), [10, 100, 1000, 10_000]);
});

test("a place is in the frame, whatever the value", () => {
  assert.deepEqual([xOf(-5, FRAME), xOf(500, FRAME), xOf(9000, FRAME)], [10, 60, 110]);
  assert.deepEqual([yOf(0, FRAME), yOf(10, FRAME), yOf(10_000, FRAME), yOf(1e9, FRAME)], [65, 65, 5, 5]);
});

test("slots that follow each other are one line, and a slot without requests is a gap", () => {
  const slots = [slot(0, 100, 10, 10), slot(100, 200, 100, 100), slot(300, 400, 10_000, 10_000)];
  assert.equal(
    pathOf(slots, (one) => one.p50_us, FRAME),
    "M10.0 65.0H20.0V45.0H30.0M40.0 5.0H50.0",
  );
});
