// The order of a table's rows, its filter, and its CSV.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  csvOf,
  fileName,
  isNumeric,
  isWanted,
  numberOf,
  orderOf,
} from "../../../../../analyzer/kafkascope_analyzer/report/html/script/layout/table_order.ts";

const sorted = (cells: string[], isDescending = false) => orderOf(cells, isDescending).map((n) => cells[n]);

test("figures are numbers, whatever their unit", () => {
  const rising = ["-5 µs", "0 µs", "999 µs", "1.00 ms", "92.7 ms", "3.85 s", "2 min 5 s", "1 h 3 min"];
  assert.deepEqual(sorted([...rising].reverse()), rising);
  assert.deepEqual(sorted(["1,408", "635", "2,609"], true), ["2,609", "1,408", "635"]);
  assert.deepEqual(sorted(["1.2 MB", "900 kB", "20 B"]), ["20 B", "900 kB", "1.2 MB"]);
  assert.deepEqual(sorted(["1:00:00.000", "00:12.677", "-00:01.000"]), ["-00:01.000", "00:12.677", "1:00:00.000"]);
  assert.equal(numberOf("2 min 5 s"), 125e6);
});

test("names are text, with the numbers in them as numbers", () => {
  assert.deepEqual(sorted(["node 10", "Node 9", "node 1"]), ["node 1", "Node 9", "node 10"]);
  assert.equal(isNumeric(["12", "gone"]), false);
  for (const text of ["v9", "10.0.0.1", "1-2", "", "12 parsecs", "1e5", "0x1f"]) assert.equal(numberOf(text), null);
});

test("empty cells are last in both orders, and equal ones keep their order", () => {
  assert.deepEqual(orderOf(["", "2", "1", "", "2"], false), [2, 1, 4, 0, 3]);
  assert.deepEqual(orderOf(["", "2", "1", "", "2"], true), [1, 4, 2, 0, 3]);
});

test("a filter looks for its text in every cell, in any case", () => {
  assert.ok(isWanted(["Fetch", "node 2"], " NODE 2 "));
  assert.ok(isWanted(["Fetch"], ""));
  assert.ok(!isWanted(["Fetch", "node 2"], ".*"));
});

test("CSV starts no formula and ends no cell before its time", () => {
  const hostile = ["=1+1", "+A1", "-A1", "@SUM(A1)", "＝1", "\t=1", 'a"b', "x,y", "two\nlines"];
  const safe = ["'=1+1", "'+A1", "'-A1", "'@SUM(A1)", "'＝1", "'\t=1", '"a""b"', '"x,y"', '"two\nlines"'];
  assert.equal(csvOf([hostile]), `${safe.join(",")}\r\n`);
  assert.equal(csvOf([["1,204", "-5", "-1.5", "1,204,000", "-5 µs"]]), "1204,-5,-1.5,1204000,'-5 µs\r\n");
});

test("a file is named after the caption", () => {
  assert.equal(fileName("Latency by API and broker"), "latency-by-api-and-broker.csv");
  assert.equal(fileName("../../etc/passwd"), "etc-passwd.csv");
  assert.equal(fileName("\u202e…"), "table.csv");
  assert.ok(fileName("x".repeat(5000)).length < 80);
});
