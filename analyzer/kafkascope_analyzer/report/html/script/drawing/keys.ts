// Keys on the timeline.

import { END } from "../facts/data.ts";
import { count, nodeName, words } from "../facts/figures.ts";
import { stretchText } from "../facts/waits.ts";
import { besideInRow } from "../layout/nearest.ts";
import { hasRequests, ROWS, type Row, toggleClient } from "../layout/rows.ts";
import { pan, setView, VIEW, viewChanged, zoom } from "../layout/view.ts";
import { announce } from "./dom.ts";
import { nextError } from "./next_error.ts";
import { openRequest } from "./panel.ts";
import { select } from "./reveal.ts";
import { TIMELINE } from "./stage.ts";

const KEYS: Record<string, () => void> = {
  ArrowLeft: () => pan(-0.15),
  ArrowRight: () => pan(0.15),
  PageUp: () => pan(-0.9),
  PageDown: () => pan(0.9),
  "+": () => zoom(0.6, middleTime()),
  "=": () => zoom(0.6, middleTime()),
  "-": () => zoom(1 / 0.6, middleTime()),
  0: () => setView(0, END),
  Home: () => setView(0, VIEW.to - VIEW.from),
  End: () => setView(END - (VIEW.to - VIEW.from), END),
  ArrowDown: () => moveCursor(1),
  ArrowUp: () => moveCursor(-1),
  n: () => stepRequest(1),
  p: () => stepRequest(-1),
  e: () => nextError(),
  o: () => openCursor(),
  Enter: () => (VIEW.request >= 0 ? openRequest(VIEW.request) : openCursor()),
};

function middleTime() {
  return (VIEW.from + VIEW.to) / 2;
}

export function keyed(event: KeyboardEvent) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

function moveCursor(by: number) {
  TIMELINE.cursor = Math.max(0, Math.min(ROWS.length - 1, (TIMELINE.cursor ?? -1) + by));
  const row = ROWS[TIMELINE.cursor];
  const { scroller } = TIMELINE;
  if (row.top < scroller.scrollTop) scroller.scrollTop = row.top;
  if (row.top + row.height > scroller.scrollTop + TIMELINE.height)
    scroller.scrollTop = row.top + row.height - TIMELINE.height;
  announce(rowText(row));
  viewChanged();
}

function rowText(row: Row) {
  if (row.kind === "cluster") return "Cluster";
  if (row.kind === "node") return [row.lane.label, ...row.lane.failing.map(stretchText)].join(", ");
  if (row.kind === "client")
    return `Client ${row.client.name}, ${words(row.client.kind)}, ${count(row.conns.length, "connection")}`;
  const requests = row.conn.n_requests === null ? "" : `, ${count(row.conn.n_requests, "request")}`;
  return `Connection to ${nodeName(row.conn.node_id)}, ${row.conn.to}${requests}`;
}

function openCursor() {
  const row = ROWS[TIMELINE.cursor ?? -1];
  if (row?.kind === "client") toggleClient(row.number);
}

// Marks the next or previous request of the row by time.
function stepRequest(by: number) {
  const row = TIMELINE.cursor === undefined ? ROWS.find(hasRequests) : ROWS[TIMELINE.cursor];
  if (!row || !hasRequests(row)) return;
  const found = besideInRow(row, by);
  if (found >= 0) select(found);
}
