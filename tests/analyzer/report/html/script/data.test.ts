// The requests of the page out of their packed columns.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { columnsOf } from "../../../../../analyzer/kafkascope_analyzer/report/html/script/drawing/embedded.ts";
import { cutCommand } from "../../../../../analyzer/kafkascope_analyzer/report/html/script/facts/commands.ts";
import {
  apiName,
  clientPlace,
  connectionPlace,
  findRequest,
  lowerBound,
  namedBy,
  openStory,
  packetsOf,
  REQ,
  requestId,
} from "../../../../../analyzer/kafkascope_analyzer/report/html/script/facts/data.ts";
import { columns, emptyStory } from "./small_story.ts";

beforeEach(() => openStory(emptyStory(), columns()));

test("differences become times in nanoseconds, connections and packets", () => {
  assert.deepEqual([...REQ.start], [1000, 1500, 2000, 500, 600]);
  assert.deepEqual([...REQ.end], [4000, 6500, 2000, 1500, 2600]);
  assert.deepEqual([...REQ.conn], [0, 0, 0, 1, 2]);
  assert.deepEqual([0, 1, 2, 3, 4].map(packetsOf), [[10, 11], [20, 22], [30], [5, 8], [10, 10]]);
});

test("each connection has its requests together, and its longest", () => {
  assert.deepEqual([...REQ.firstOf], [0, 3, 4, 5]);
  assert.deepEqual([...REQ.longest], [5000, 1000, 2000]);
});

test("an id leads to its request and back, that of an orphan response too", () => {
  const ids = [0, 1, 2, 3, 4].map(requestId);
  assert.deepEqual(ids, ["aa-1", "aa-2", "aa-3", "bb-0", "cc-r4"]);
  assert.deepEqual(ids.map(findRequest), [0, 1, 2, 3, 4]);
  assert.deepEqual(["aa-9", "zz-1"].map(findRequest), [-1, -1]);
});

test("names of partitions, APIs, clients and connections", () => {
  assert.equal(apiName(3), "Fetch");
  assert.deepEqual(namedBy(0), [{ topic: "clicks", partition: 0, offset: -1, error: "" }]);
  assert.deepEqual(
    namedBy(1).map(({ partition, offset, error }) => [partition, offset, error]),
    [
      [0, 5, "NOT_LEADER_OR_FOLLOWER"],
      [1, -1, ""],
    ],
  );
  assert.deepEqual([clientPlace("b1"), clientPlace("nobody"), connectionPlace("cc")], [1, -1, 2]);
});

test("the first place that is not below a value", () => {
  assert.deepEqual(
    [0, 5, 6, 99].map((least) => lowerBound([1, 5, 5, 9], least, 0, 4)),
    [0, 1, 3, 4],
  );
});

test("a command quotes what a shell would read otherwise", () => {
  assert.equal(cutCommand("--client", "p 1", "p"), "kafkascope cut 'it'\\''s.kscope' --client 'p 1' -o p.pcapng");
});

test("columns lie in the bytes where the header says", () => {
  const header = new TextEncoder().encode(
    JSON.stringify([
      ["a", "u8", 3, 0],
      ["b", "u32", 2, 8],
    ]).padEnd(60),
  );
  const buffer = new ArrayBuffer(4 + header.length + 16);
  new DataView(buffer).setUint32(0, header.length, true);
  new Uint8Array(buffer).set(header, 4);
  new Uint8Array(buffer).set([1, 2, 3], 4 + header.length);
  new Uint32Array(buffer, 4 + header.length + 8).set([7, 70_000]);
  const found = columnsOf(buffer);
  assert.deepEqual([...found.a, ...found.b], [1, 2, 3, 7, 70_000]);
});
