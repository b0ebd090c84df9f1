// Figures are written as report.formatting writes them: the cases, and what they have to give, come from there.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { openStory } from "../../../../../analyzer/kafkascope_analyzer/report/html/script/facts/data.ts";
import {
  bytes,
  clock,
  grouped,
  listOf,
  span,
  wallClock,
} from "../../../../../analyzer/kafkascope_analyzer/report/html/script/facts/figures.ts";
import { emptyColumns, emptyStory } from "./small_story.ts";

type Case = [string, number, string];
const FIGURES: Record<string, (value: number) => string> = { span, clock, size: bytes, grouped, absolute: wallClock };
const cases: Case[] = JSON.parse(readFileSync(process.env.KAFKASCOPE_CASES ?? "", "utf8"));
openStory(emptyStory(), emptyColumns());

for (const name of Object.keys(FIGURES)) {
  test(`${name} as in Python`, () => {
    const mine = cases.filter(([of]) => of === name);
    assert.ok(mine.length > 50);
    for (const [, value, text] of mine) assert.equal(FIGURES[name](value), text, `${name} of ${value}`);
  });
}

test("a list names the first, and counts the others", () => {
  assert.equal(listOf(["a", "b"], 2), "a, b");
  assert.equal(listOf(["a", "b", "c"], 2), "a, b … and 1 more");
});

test("a clock without a fraction, and none", () => {
  assert.equal(clock(61_500_000_000, 0), "01:01");
  assert.equal(clock(null), "");
});
