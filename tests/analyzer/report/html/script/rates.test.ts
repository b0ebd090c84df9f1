// The strip of request rates: heights and the slot that the keyboard chooses.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { RateSlot } from "../../../../../analyzer/kafkascope_analyzer/report/html/script/facts/story.d.ts";
import { heightOf, slotAt } from "../../../../../analyzer/kafkascope_analyzer/report/html/script/layout/rates.ts";

const slots = [10, 30, 40].map((from_ns) => ({ from_ns, to_ns: from_ns + 10 }) as RateSlot);

test("the most is as tall as the row, a quarter of it half as tall, and what is there is seen", () => {
  assert.equal(heightOf(80, 80, 12), 12);
  assert.equal(heightOf(20, 80, 12), 6);
  assert.equal(heightOf(0, 80, 12), 1.5);
});

test("in another group the slot at the same time, or the last before it", () => {
  assert.deepEqual(
    [5, 10, 29, 30, 99].map((ns) => slotAt(slots, ns)),
    [0, 0, 0, 1, 2],
  );
});
