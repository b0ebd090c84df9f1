// Which requests the filter lets through, and which rows the timeline has then.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { openStory } from "../../../../../analyzer/kafkascope_analyzer/report/html/script/facts/data.ts";
import {
  computeFilter,
  FILTER,
  type Filter,
  isTrouble,
  LANE_HITS,
  MASK,
} from "../../../../../analyzer/kafkascope_analyzer/report/html/script/facts/filter.ts";
import { columns, emptyStory } from "./small_story.ts";

const NONE = { ...FILTER };

function kept(values: Partial<Filter>): number[] {
  Object.assign(FILTER, NONE, values);
  computeFilter();
  return [...MASK].flatMap((one, i) => (one ? [i] : []));
}

beforeEach(() => openStory(emptyStory(), columns()));

test("without a filter everything is shown", () => {
  assert.deepEqual(kept({}), [0, 1, 2, 3, 4]);
  assert.deepEqual([...LANE_HITS], [3, 1, 1]);
});

test("each field, and several together", () => {
  assert.deepEqual(kept({ client: "b1" }), [4]);
  assert.deepEqual(kept({ role: "bootstrap" }), [3]);
  assert.deepEqual(kept({ api: "Fetch" }), [3, 4]);
  assert.deepEqual(kept({ group: "readers" }), [3]);
  assert.deepEqual(kept({ topic: "clicks" }), [0, 1]);
  assert.deepEqual(kept({ error: "NOT_LEADER_OR_FOLLOWER" }), [1]);
  assert.deepEqual(kept({ errors: true }), [1, 2]);
  assert.deepEqual(kept({ errors: true, topic: "clicks" }), [1]);
  assert.deepEqual([...LANE_HITS], [1, 0, 0]);
});

test("text is looked for in names, and a number is a packet's too", () => {
  assert.deepEqual(kept({ text: "not_lead" }), [1]);
  assert.deepEqual(kept({ text: "PRODUCE" }), [0, 1, 2, 3]);
  assert.deepEqual(kept({ text: "22" }), [1]);
  assert.deepEqual(kept({ text: "nothing like it" }), []);
});

test("a request is in trouble where the report says that it failed", () => {
  assert.deepEqual([0, 1, 2, 3, 4].filter(isTrouble), [1, 2]);
});
