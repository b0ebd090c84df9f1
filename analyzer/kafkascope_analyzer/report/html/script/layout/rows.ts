// The timeline's rows from top to bottom: the cluster's, brokers with their states, then clients with their connections
// where they are open.

import { STORY } from "../facts/data.ts";
import { FILTER, FILTERED, findsClient, LANE_HITS } from "../facts/filter.ts";
import type { BrokerLane, LaneClient, LaneConnection } from "../facts/story.d.ts";
import { VIEW, viewChanged } from "./view.ts";

export const CLUSTER_ROW = 30;

export const NODE_ROW = 22;

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

const ROW_LISTENERS: (() => void)[] = [];

export function onRows(listener: () => void) {
  ROW_LISTENERS.push(listener);
}

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
  for (const listener of ROW_LISTENERS) listener();
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
  return findsClient(client);
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

// What a row is called as long as the page is open.
export function keyOf(row: Row): string {
  return "number" in row ? row.kind + row.number : row.kind;
}

// Where a row has its requests: a client's lane keeps room above for episodes and below for starts.
export function bodyOf(row: Row, top: number, width: number) {
  return row.kind === "client" ? { top: top + 14, height: 20, width } : { top: top + 3, height: 14, width };
}
