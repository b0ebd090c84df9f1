// Which requests and lanes the filter (FILTER) passes: MASK has a 1 for each request, LANE_HITS how many each
// connection has.

import { REQ, responsePacket, STORY } from "./data.ts";
import { count, grouped } from "./figures.ts";
import type { LaneClient, LaneConnection } from "./story.d.ts";

export const FILTER = { text: "", client: "", group: "", topic: "", api: "", error: "", role: "", errors: false };
export const FILTER_TEXTS = ["text", "client", "group", "topic", "api", "error", "role"] as const;

export type Filter = typeof FILTER;

export let MASK: Uint8Array;
export let LANE_HITS: Uint32Array;
export let FILTERED = false;

export function computeFilter() {
  const wanted = Object.entries(FILTER).filter(([, value]) => value);
  FILTERED = wanted.length > 0;
  MASK = new Uint8Array(REQ.n).fill(1);
  LANE_HITS = new Uint32Array(STORY.lanes.connections.length);
  if (FILTERED) maskLanes();
  if (FILTERED) maskRequests();
  for (let i = 0; i < REQ.n; i++) LANE_HITS[REQ.conn[i]] += MASK[i];
}

// Client and role are the connection's.
function maskLanes() {
  STORY.lanes.connections.forEach((conn, n) => {
    const client = STORY.lanes.clients[conn.client];
    const right =
      (!FILTER.client || client.client_instance_id === FILTER.client) &&
      (!FILTER.role || conn.roles.some((role) => role.role === FILTER.role));
    if (!right) MASK.fill(0, REQ.firstOf[n], REQ.firstOf[n + 1]);
  });
}

function maskRequests() {
  const names = STORY.requests;
  const tests: ((i: number) => boolean)[] = [];
  if (FILTER.api) tests.push(is(REQ.api, names.apis.indexOf(FILTER.api)));
  if (FILTER.group) tests.push(is(REQ.group, names.groups.indexOf(FILTER.group)));
  if (FILTER.error) tests.push(is(REQ.error, names.errors.indexOf(FILTER.error)));
  if (FILTER.errors) tests.push((i) => isTrouble(i));
  if (FILTER.topic) {
    const topic = names.topics.indexOf(FILTER.topic);
    tests.push((i) => names_topic(i, (t) => t === topic));
  }
  if (FILTER.text) tests.push(textTest(FILTER.text.toLowerCase()));
  for (let i = 0; i < REQ.n; i++) if (MASK[i] && !tests.every((test) => test(i))) MASK[i] = 0;
}

function is(column: ArrayLike<number>, value: number) {
  return (i: number) => column[i] === value;
}

export function isTrouble(i: number) {
  return REQ.failed[i] === 1;
}

function names_topic(i: number, right: (topic: number) => boolean) {
  for (let k = REQ.namedFrom[i]; k < REQ.namedFrom[i + 1]; k++) if (right(REQ.topic[k])) return true;
  return false;
}

// Free text: in what is known of the connection and its client, or in a name of the request; a number is also a
// packet's.
function textTest(text: string) {
  const has = (name: unknown) =>
    String(name ?? "")
      .toLowerCase()
      .includes(text);
  const flags = (list: string[]) => Uint8Array.from(list, (name, n) => (n > 0 && has(name) ? 1 : 0));
  const names = STORY.requests;
  const [apis, errors, groups, topics] = [names.apis, names.errors, names.groups, names.topics].map(flags);
  const [transactions, clients] = [names.transactional_ids, names.client_ids].map(flags);
  const lanes = STORY.lanes.connections.map((conn) => laneText(conn).some(has));
  const packet = /^\d+$/.test(text) ? Number(text) : -1;
  return (i: number) =>
    lanes[REQ.conn[i]] ||
    apis[REQ.api[i]] > 0 ||
    errors[REQ.error[i]] > 0 ||
    groups[REQ.group[i]] > 0 ||
    transactions[REQ.transaction[i]] > 0 ||
    clients[REQ.client[i]] > 0 ||
    REQ.packet[i] === packet ||
    responsePacket(i) === packet ||
    names_topic(i, (topic) => topics[topic] > 0);
}

function laneText(conn: LaneConnection) {
  const client = STORY.lanes.clients[conn.client];
  return [
    conn.conn_id,
    conn.from,
    conn.to,
    client.client_id,
    client.client_instance_id,
    client.kind,
    client.group_id,
    client.software_name,
    client.principal,
  ];
}

// Whether the filter finds something of the client: a request of it, or where only text is looked for, its name.
export function findsClient(client: LaneClient) {
  if (!FILTERED) return true;
  if (FILTER.client) return FILTER.client === client.client_instance_id;
  return client.conns.some((conn) => LANE_HITS[conn] > 0) || (onlyText() && matchesText(client));
}

function onlyText() {
  return Object.entries(FILTER).every(([name, value]) => name === "text" || !value);
}

function matchesText(client: LaneClient) {
  const text = FILTER.text.toLowerCase();
  return [client.client_id, client.client_ip, client.client_instance_id, client.group_id].some((name) =>
    String(name ?? "")
      .toLowerCase()
      .includes(text),
  );
}

// What passes, in words; empty without a filter.
export function filterText() {
  if (!FILTERED) return "";
  let n = 0;
  for (let i = 0; i < REQ.n; i++) if (MASK[i]) n += REQ.weight[i];
  return `${count(n, "request")} of ${grouped(STORY.requests.n)} on ${count(LANE_HITS.filter((hits) => hits).length, "connection")}`;
}
