// Which requests and lanes the filter lets through: MASK has a 1 for each request, LANE_HITS how many each connection
// has.

import { REQ, responsePacket, STORY } from "./data.ts";
import { button, byId, el } from "./dom.ts";
import { count, grouped, words } from "./figures.ts";
import { layRows } from "./lanes.ts";
import type { LaneConnection } from "./story.d.ts";
import { FILTER, FILTER_TEXTS, type Filter, VIEW, viewChanged } from "./view.ts";

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

const MOST_OPTIONS = 500;

// The filter's form. What it can choose from is what the capture has; free text reaches the rest.
export function filterForm() {
  const names = STORY.requests;
  const sorted = (list: string[]) =>
    list
      .slice(2)
      .sort()
      .map((name) => [name, name]);
  const clients = STORY.lanes.clients.map((client) => [
    client.client_instance_id,
    `${client.name} (${words(client.kind)})`,
  ]);
  const roles = [...new Set(STORY.lanes.connections.flatMap((conn) => conn.roles.map((role) => role.role)))].sort();
  const form = {
    class: "filter",
    role: "search",
    "aria-label": "Filter the timeline",
    onsubmit: (event: Event) => event.preventDefault(),
  };
  return el(
    "form",
    form,
    el("label", { class: "wide" }, "Find ", findField()),
    choice("client", "Client", clients),
    choice("group", "Group", sorted(names.groups)),
    choice("topic", "Topic", sorted(names.topics)),
    choice("api", "API", sorted(names.apis)),
    choice("error", "Error", sorted(names.errors.filter((name) => name !== "NONE"))),
    choice(
      "role",
      "Role",
      roles.map((role) => [role, words(role)]),
    ),
    tick("errors", "only errors", filterInput),
    tick("brokers", "brokers’ own clients", brokersInput),
    button("Clear", clearFilter, { class: "small" }),
    el("output", { id: "filter-result" }),
  );
}

function findField() {
  const placeholder = "client, address, topic, error, packet …";
  return el("input", { type: "search", name: "text", placeholder, oninput: filterInput });
}

function tick(name: string, text: string, onchange: (event: Event) => void) {
  return el("label", { class: "check" }, el("input", { type: "checkbox", name, onchange }), text);
}

function choice(name: string, title: string, options: string[][]) {
  const more =
    options.length > MOST_OPTIONS
      ? [el("option", { disabled: true }, `… and ${options.length - MOST_OPTIONS} more: use Find`)]
      : [];
  const listed = options.slice(0, MOST_OPTIONS).map(([value, text]) => el("option", { value }, text));
  return el(
    "label",
    {},
    `${title} `,
    el(
      "select",
      { name, onchange: filterInput, disabled: options.length === 0 },
      el("option", { value: "" }, "all"),
      listed,
      more,
    ),
  );
}

export // A field of the form by its name: an input or a select.
function field(name: string): HTMLInputElement {
  return document.querySelector(`form.filter [name=${name}]`) as HTMLInputElement;
}

let pendingFilter = 0;

function filterInput() {
  clearTimeout(pendingFilter);
  pendingFilter = window.setTimeout(takeFilter, 120);
}

function takeFilter() {
  for (const name of FILTER_TEXTS) FILTER[name] = field(name).value;
  FILTER.errors = field("errors").checked;
  applyFilter();
}

function brokersInput(event: Event) {
  VIEW.brokers = (event.target as HTMLInputElement).checked;
  applyFilter();
}

export function clearFilter() {
  for (const name of FILTER_TEXTS) FILTER[name] = "";
  FILTER.errors = false;
  showFilter();
  applyFilter();
}

export function showFilter() {
  for (const name of FILTER_TEXTS) field(name).value = FILTER[name];
  field("errors").checked = FILTER.errors;
  field("brokers").checked = VIEW.brokers;
}

export function setFilter(values: Partial<Filter>) {
  Object.assign(FILTER, values);
  showFilter();
  applyFilter();
}

export function applyFilter() {
  computeFilter();
  layRows();
  let n = 0;
  for (let i = 0; i < REQ.n; i++) if (MASK[i]) n += REQ.weight[i];
  const text = FILTERED
    ? `${count(n, "request")} of ${grouped(STORY.requests.n)} on ${count(LANE_HITS.filter((hits) => hits).length, "connection")}`
    : "";
  byId("filter-result").textContent = text;
  viewChanged();
}
