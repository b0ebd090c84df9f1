// The data of the page: what the stories say (STORY) and the requests as typed arrays (REQ).

import type { Story } from "./story.d.ts";

interface Requests {
  n: number;
  firstOf: Uint32Array;
  longest: Float64Array;
  namedFrom: Uint32Array;
  start: Float64Array;
  end: Float64Array;
  conn: Uint32Array;
  number: Uint32Array;
  correlation: Uint32Array;
  packet: Uint32Array;
  d_response: Uint32Array;
  took: Uint32Array;
  latency: Uint32Array;
  generation: Int32Array;
  request_bytes: Uint32Array;
  response_bytes: Uint32Array;
  n_records: Uint32Array;
  record_bytes: Uint32Array;
  throttle_ms: Uint32Array;
  weight: Uint32Array;
  error: Uint16Array;
  group: Uint16Array;
  transaction: Uint16Array;
  client: Uint16Array;
  n_partitions: Uint16Array;
  in_flight: Uint16Array;
  version: Uint16Array;
  capture: Uint16Array;
  api: Uint8Array;
  failed: Uint8Array;
  status: Uint8Array;
  acks: Uint8Array;
  n_named: Uint8Array;
  topic: Uint16Array;
  partition: Int32Array;
  offset: Float64Array;
  partition_error: Uint16Array;
}

// A topic-partition that a request names.
export interface Named {
  topic: string;
  partition: number;
  offset: number;
  error: string;
}

export type Numbers = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;

// Both are read-only for other modules, and are there once openStory was called.
export let STORY: Story;
export let REQ: Requests;

// The first nanosecond after the capture.
export let END = 1;
export const NO_TIME = 4294967295;
const ORPHANS = 2147483648;
export const STATUSES = [
  "ok",
  "no response expected",
  "unanswered",
  "orphan response",
  "undecoded",
  "not captured",
  "unknown",
];

export function openStory(story: Story, columns: Record<string, Numbers>) {
  STORY = story;
  END = Math.max(1, (story.capture.end_ns ?? 1) + 1);
  CONNECTION_PLACES = new Map(story.lanes.connections.map((conn, n) => [conn.conn_id, n]));
  CLIENT_PLACES = new Map(story.lanes.clients.map((client, n) => [client.client_instance_id, n]));
  REQ = requestsOf(columns);
}

// Differences modulo 2**32 back to values; a Uint32Array wraps as the writer did.
function summed(steps: Numbers) {
  const values = new Uint32Array(steps.length);
  let value = 0;
  for (let i = 0; i < steps.length; i++) values[i] = value = (value + steps[i]) >>> 0;
  return values;
}

function requestsOf(columns: Record<string, Numbers>): Requests {
  const made = { ...columns, n: columns.d_ts.length } as unknown as Requests;
  for (const name of ["conn", "number", "correlation", "packet"] as const) made[name] = summed(columns[`d_${name}`]);
  const ticks = summed(columns.d_ts);
  const unit = STORY.requests.unit;
  made.start = Float64Array.from(ticks, (tick) => tick * unit);
  made.end = new Float64Array(made.n);
  for (let i = 0; i < made.n; i++) made.end[i] = made.start[i] + (made.took[i] === NO_TIME ? 0 : made.took[i] * 1000);
  addPlaces(made);
  return made;
}

// firstOf[c] .. firstOf[c + 1]: the requests of connection c; longest[c]: its longest request, ns;
// namedFrom[i] .. namedFrom[i + 1]: the topic-partitions of request i.
function addPlaces(made: Requests) {
  const nConns = STORY.lanes.connections.length;
  made.firstOf = new Uint32Array(nConns + 1);
  made.longest = new Float64Array(nConns);
  made.namedFrom = new Uint32Array(made.n + 1);
  for (let i = 0; i < made.n; i++) {
    const conn = made.conn[i];
    made.firstOf[conn + 1] = i + 1;
    made.longest[conn] = Math.max(made.longest[conn], made.end[i] - made.start[i]);
    made.namedFrom[i + 1] = made.namedFrom[i] + made.n_named[i];
  }
  for (let c = 0; c < nConns; c++) made.firstOf[c + 1] = Math.max(made.firstOf[c + 1], made.firstOf[c]);
}

// First place in values[from .. to) that is not below `least`.
export function lowerBound(values: ArrayLike<number>, least: number, from: number, to: number) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle] < least) from = middle + 1;
    else to = middle;
  }
  return from;
}

export function requestId(i: number) {
  const number = REQ.number[i];
  const tail = number >= ORPHANS ? `r${number - ORPHANS}` : String(number);
  return `${STORY.lanes.connections[REQ.conn[i]].conn_id}-${tail}`;
}

// The kept request with this id, -1 where there is none.
export function findRequest(id: string) {
  const at = id.lastIndexOf("-");
  const conn = connectionPlace(id.slice(0, at));
  if (conn < 0) return -1;
  const tail = id.slice(at + 1);
  const number = tail.startsWith("r") ? ORPHANS + Number(tail.slice(1)) : Number(tail);
  for (let i = REQ.firstOf[conn]; i < REQ.firstOf[conn + 1]; i++) if (REQ.number[i] === number) return i;
  return -1;
}

let CONNECTION_PLACES = new Map<string, number>();

export function connectionPlace(connId: string) {
  return CONNECTION_PLACES.get(connId) ?? -1;
}

let CLIENT_PLACES = new Map<string, number>();

export function clientPlace(identity: string) {
  return CLIENT_PLACES.get(identity) ?? -1;
}

export function apiName(i: number) {
  return STORY.requests.apis[REQ.api[i]];
}

const NO_VERSION = 65535;

export function apiText(i: number) {
  return REQ.version[i] === NO_VERSION ? apiName(i) : `${apiName(i)} v${REQ.version[i]}`;
}

export function packetsOf(i: number) {
  const asked = REQ.packet[i];
  const answered = (asked + REQ.d_response[i]) >>> 0;
  return [asked, answered].filter((packet) => packet > 0);
}

export function responsePacket(i: number) {
  return (REQ.packet[i] + REQ.d_response[i]) >>> 0;
}

// topic-partitions that the request names, as far as the page has them.
export function namedBy(i: number) {
  const named = [];
  for (let k = REQ.namedFrom[i]; k < REQ.namedFrom[i + 1]; k++) {
    named.push({
      topic: STORY.requests.topics[REQ.topic[k]],
      partition: REQ.partition[k],
      offset: REQ.offset[k],
      error: STORY.requests.errors[REQ.partition_error[k]],
    });
  }
  return named;
}
