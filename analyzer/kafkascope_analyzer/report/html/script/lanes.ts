// The timeline's rows from top to bottom: the cluster's, brokers with their states, then clients with their connections where they are open.

import { STORY } from "./data.ts";
import { button, el } from "./dom.ts";
import { words } from "./figures.ts";
import { FILTERED, LANE_HITS } from "./filter.ts";
import { swatch } from "./roles.ts";
import type { BrokerLane, LaneClient, LaneConnection } from "./story.d.ts";
import { rowsChanged } from "./timeline.ts";
import { FILTER, VIEW, viewChanged } from "./view.ts";
import { NODE_ROW, nodeLabel } from "./waits.ts";

export const CLUSTER_ROW = 30;
const CLIENT_ROW = 45;
const CONN_ROW = 20;
interface Placed {
  top: number;
  height: number;
}

type ClusterRow = Placed & { kind: "cluster" };
export type NodeRow = Placed & { kind: "node"; lane: BrokerLane };
export type ClientRow = Placed & { kind: "client"; client: LaneClient; number: number; conns: number[] };
type ConnRow = Placed & { kind: "conn"; client: LaneClient; number: number; conn: LaneConnection; conns: number[] };
// Rows that have requests, and all rows.
export type RequestRow = ClientRow | ConnRow;
export type Row = ClusterRow | NodeRow | RequestRow;

export function hasRequests(row: Row): row is RequestRow {
  return row.kind === "client" || row.kind === "conn";
}

export let ROWS: Row[] = [];
export let ROWS_HEIGHT = 0;

export function layRows() {
  ROWS = [{ kind: "cluster", top: 0, height: CLUSTER_ROW }];
  for (const lane of STORY.broker_lanes) ROWS.push({ kind: "node", lane, top: 0, height: NODE_ROW });
  STORY.lanes.clients.forEach((client, number) => {
    if (!isShown(client)) return;
    ROWS.push({ kind: "client", client, number, top: 0, height: CLIENT_ROW, conns: client.conns });
    if (VIEW.open.has(number)) for (const conn of client.conns) addConnection(client, conn);
  });
  let top = 0;
  for (const row of ROWS) {
    row.top = top;
    top += row.height;
  }
  ROWS_HEIGHT = top;
  rowsChanged();
}

function addConnection(client: LaneClient, number: number) {
  if (FILTERED && !LANE_HITS[number]) return;
  ROWS.push({
    kind: "conn",
    client,
    number,
    conn: STORY.lanes.connections[number],
    top: 0,
    height: CONN_ROW,
    conns: [number],
  });
}

// Brokers' own clients are left out unless they are asked for; a filter shows the clients that it finds something of.
function isShown(client: LaneClient) {
  if (client.kind === "broker" && !VIEW.brokers && FILTER.client !== client.client_instance_id) return false;
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

export function toggleClient(number: number) {
  if (VIEW.open.has(number)) VIEW.open.delete(number);
  else VIEW.open.add(number);
  layRows();
  viewChanged();
}

export function openAll(open: boolean) {
  VIEW.open = new Set(open ? ROWS.filter((row) => row.kind === "client").map((row) => row.number) : []);
  layRows();
  viewChanged();
}

// The first row whose bottom is below y.
export function rowAt(y: number) {
  let from = 0;
  let to = ROWS.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (ROWS[middle].top + ROWS[middle].height <= y) from = middle + 1;
    else to = middle;
  }
  return from;
}

export function rowOfConnection(number: number) {
  return ROWS.findIndex((row) => row.kind === "conn" && row.number === number);
}

// Labels beside the canvas: buttons, so that a keyboard opens and closes a client.
export function labelOf(row: Row) {
  if (row.kind === "cluster")
    return el(
      "div",
      { class: "label cluster" },
      el("strong", {}, "Cluster"),
      el("span", {}, "leaders, coordinators, brokers"),
    );
  if (row.kind === "node") return nodeLabel(row);
  if (row.kind === "client") return clientLabel(row);
  const { conn } = row;
  const roles = [...new Set(conn.roles.map((role) => words(role.role)))].join(", ") || conn.protocol;
  const title = `${conn.from} → ${conn.to}: ${roles}`;
  return el(
    "div",
    { class: "label conn", title },
    conn.family === null ? el("span", { class: "swatch" }) : swatch(conn.family),
    el("span", { class: "to" }, conn.node_id === null ? conn.to : `node ${conn.node_id}`),
    el("span", { class: "what" }, roles),
  );
}

function clientLabel(row: ClientRow) {
  const { client, number } = row;
  const open = VIEW.open.has(number);
  const toggle = button(
    [el("span", { class: "arrow", "aria-hidden": "true" }, open ? "▾" : "▸"), el("strong", {}, client.name)],
    () => toggleClient(number),
    { class: "toggle", "aria-expanded": String(open), title: `${client.name} at ${client.client_ip}` },
  );
  return el("div", { class: "label client" }, toggle, el("span", { class: "what" }, client.what));
}
