// Where things are on the timeline, computed without a browser.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { openStory } from "../../../../../analyzer/kafkascope_analyzer/report/html/script/facts/data.ts";
import { computeFilter, FILTER } from "../../../../../analyzer/kafkascope_analyzer/report/html/script/facts/filter.ts";
import {
  countColumns,
  fillShares,
  SHARES,
  TROUBLE,
} from "../../../../../analyzer/kafkascope_analyzer/report/html/script/layout/density.ts";
import {
  besideInRow,
  nearest,
  nextTrouble,
} from "../../../../../analyzer/kafkascope_analyzer/report/html/script/layout/nearest.ts";
import {
  hasRequests,
  keyOf,
  layRows,
  onRows,
  openAll,
  ROWS,
  ROWS_HEIGHT,
  rowAt,
  rowOfConnection,
} from "../../../../../analyzer/kafkascope_analyzer/report/html/script/layout/rows.ts";
import { rangeOf, ticks, xOf } from "../../../../../analyzer/kafkascope_analyzer/report/html/script/layout/scale.ts";
import {
  onView,
  pan,
  setView,
  VIEW,
  zoom,
} from "../../../../../analyzer/kafkascope_analyzer/report/html/script/layout/view.ts";
import { columns, emptyStory } from "./small_story.ts";

const NONE = { ...FILTER };

beforeEach(() => {
  openStory({ ...emptyStory(), broker_lanes: [] }, columns());
  Object.assign(FILTER, NONE);
  Object.assign(VIEW, { open: new Set(), brokers: false, request: -1 });
  computeFilter();
  setView(0, 10_000);
  layRows();
});

test("a view stays within the capture, and is not too short", () => {
  let changes = 0;
  onView(() => changes++);
  setView(-50, 5000);
  assert.deepEqual([VIEW.from, VIEW.to], [0, 5050]);
  setView(100, 101);
  assert.equal(VIEW.to - VIEW.from, 2000);
  setView(0, 10_000);
  zoom(0.5, 5000);
  assert.deepEqual([VIEW.from, VIEW.to], [2500, 7500]);
  pan(-1);
  assert.deepEqual([VIEW.from, VIEW.to], [0, 5000]);
  assert.equal(changes, 5);
});

test("rows: brokers' own clients are hidden, connections show where their client is open", () => {
  assert.deepEqual(ROWS.map(keyOf), ["cluster", "client0"]);
  openAll(true);
  assert.deepEqual(ROWS.map(keyOf), ["cluster", "client0", "conn0", "conn1"]);
  assert.deepEqual(
    [rowAt(0), rowAt(29), rowAt(30), rowAt(75), rowOfConnection(1), rowOfConnection(2)],
    [0, 0, 1, 2, 3, -1],
  );
  assert.equal(ROWS_HEIGHT, 30 + 45 + 20 + 20);
  VIEW.brokers = true;
  let laid = 0;
  onRows(() => laid++);
  layRows();
  assert.deepEqual([ROWS.map(keyOf).at(-1), laid], ["client1", 1]);
});

test("a filter leaves the clients and connections that it finds something of", () => {
  openAll(true);
  FILTER.api = "Fetch";
  computeFilter();
  layRows();
  assert.deepEqual(ROWS.map(keyOf), ["cluster", "client0", "conn1"]);
});

test("times are places, and the requests in view are found by the longest", () => {
  assert.deepEqual([xOf(0, 500), xOf(2500, 500), xOf(10_000, 500)], [0, 125, 500]);
  assert.deepEqual(rangeOf(0), [0, 3]);
  setView(7000, 9000);
  assert.deepEqual(rangeOf(0), [2, 3]);
  assert.deepEqual(ticks(450), { step: 500, found: [7000, 7500, 8000, 8500] });
});

test("the nearest request to the pointer, a trouble before others", () => {
  const row = ROWS[1];
  assert.equal(nearest(row, 550, 100), 3);
  assert.equal(nearest(row, 3000, 100), 1);
  assert.equal(nearest(row, 9000, 100), -1);
  assert.equal(nearest(ROWS[0], 550, 100), -1);
});

test("the next and the previous request of a row, and the next in trouble", () => {
  const row = ROWS.find(hasRequests);
  assert.ok(row);
  VIEW.request = 0;
  assert.deepEqual([besideInRow(row, 1), besideInRow(row, -1)], [1, 3]);
  assert.equal(nextTrouble(), 1);
  VIEW.request = 1;
  assert.equal(nextTrouble(), 2);
  VIEW.request = 2;
  assert.equal(nextTrouble(), -1);
});

test("columns of pixels count each request as often as it stands for others", () => {
  assert.equal(fillShares([[0, 5]], 10), 5);
  assert.deepEqual([SHARES[0], SHARES[8], SHARES[TROUBLE], SHARES[6]], [7, 1, 1, 0]);
  const { all, trouble, most } = countColumns(4);
  assert.deepEqual([[...all], [...trouble], most], [[8, 0, 0, 0], [2, 0, 0, 0], 8]);
});
