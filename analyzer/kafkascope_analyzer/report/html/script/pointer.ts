// Wheel, drag, pinch, hover, click and keys on the timeline.

import { BANDS, rangeOf } from "./bars.ts";
import { showClient } from "./clients.ts";
import { END, lowerBound, REQ, STORY } from "./data.ts";
import { announce } from "./dom.ts";
import { clock, count, nodeName, words } from "./figures.ts";
import { clearFilter, isTrouble, MASK, showFilter } from "./filter.ts";
import { hasRequests, layRows, ROWS, type Row, rowAt, rowOfConnection, toggleClient } from "./lanes.ts";
import { centre } from "./minimap.ts";
import { openRequest, requestLines } from "./request.ts";
import { TIMELINE } from "./timeline.ts";
import { hideTip, showTip } from "./tip.ts";
import { pan, setView, VIEW, viewChanged, zoom } from "./view.ts";
import { nodeText, stretchText, waitsAt } from "./waits.ts";

const POINTERS = new Map<number, PointerEvent>();

export function listenTimeline() {
  const { canvas } = TIMELINE;
  canvas.addEventListener("wheel", wheeled, { passive: false });
  canvas.addEventListener("pointerdown", pointerDown);
  canvas.addEventListener("pointermove", pointerMove);
  canvas.addEventListener("pointerup", pointerUp);
  canvas.addEventListener("pointercancel", pointerUp);
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("dblclick", (event) => zoom(0.4, timeAt(event)));
  canvas.addEventListener("keydown", keyed);
  for (const kind of ["focus", "blur"]) canvas.addEventListener(kind, viewChanged);
}

function timeAt(event: MouseEvent) {
  const x = event.clientX - TIMELINE.canvas.getBoundingClientRect().left;
  return VIEW.from + (x / TIMELINE.width) * (VIEW.to - VIEW.from);
}

function wheeled(event: WheelEvent) {
  const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
  if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
    event.preventDefault();
    return pan(sideways / TIMELINE.width);
  }
  if (!event.ctrlKey && !event.metaKey && document.activeElement !== TIMELINE.canvas) return undefined;
  event.preventDefault();
  return zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.006), timeAt(event));
}

function pointerDown(event: PointerEvent) {
  TIMELINE.canvas.setPointerCapture(event.pointerId);
  TIMELINE.canvas.focus({ preventScroll: true });
  POINTERS.set(event.pointerId, event);
  TIMELINE.drag = {
    x: event.clientX,
    y: event.clientY,
    from: VIEW.from,
    moved: false,
    select: event.shiftKey ? timeAt(event) : null,
  };
  if (POINTERS.size === 2) TIMELINE.pinch = pinchNow();
}

function pinchNow() {
  const [a, b] = [...POINTERS.values()];
  return { apart: Math.max(20, Math.abs(a.clientX - b.clientX)) };
}

function pointerMove(event: PointerEvent) {
  if (!POINTERS.has(event.pointerId)) return hover(event);
  POINTERS.set(event.pointerId, event);
  if (POINTERS.size === 2) return pinched();
  const { drag } = TIMELINE;
  if (!drag) return undefined;
  const by = event.clientX - drag.x;
  if (Math.abs(by) > 3) drag.moved = true;
  if (!drag.moved || drag.select !== null) return undefined;
  hideTip();
  const length = VIEW.to - VIEW.from;
  const from = drag.from - (by / TIMELINE.width) * length;
  return setView(from, from + length);
}

function pinched() {
  const { pinch, drag } = TIMELINE;
  if (!pinch || !drag) return;
  const [a, b] = [...POINTERS.values()];
  const apart = Math.max(20, Math.abs(a.clientX - b.clientX));
  zoom(pinch.apart / apart, (timeAt(a) + timeAt(b)) / 2);
  pinch.apart = apart;
  drag.moved = true;
}

function pointerUp(event: PointerEvent) {
  const { drag } = TIMELINE;
  const was = POINTERS.delete(event.pointerId);
  if (!was || !drag || POINTERS.size) return undefined;
  if (drag.select !== null && drag.moved) {
    const [from, to] = [drag.select, timeAt(event)].sort((a, b) => a - b);
    return setView(from, to);
  }
  return drag.moved || event.type === "pointercancel" ? undefined : clicked(event);
}

function clicked(event: MouseEvent) {
  const { row, n } = rowUnder(event);
  TIMELINE.cursor = n;
  const found = row ? nearest(row, event) : -1;
  if (found >= 0) return openRequest(found);
  if (row && row.kind === "client") showClient(row.number, false);
  return viewChanged();
}

function rowUnder(event: MouseEvent) {
  const y = event.clientY - TIMELINE.canvas.getBoundingClientRect().top + TIMELINE.scroller.scrollTop;
  const n = rowAt(y);
  return { row: ROWS[n], n };
}

// The request nearest to the pointer in the row, within a few pixels; troubles win.
function nearest(row: Row, event: MouseEvent) {
  if (!hasRequests(row)) return -1;
  const at = timeAt(event);
  const reach = (4 * (VIEW.to - VIEW.from)) / TIMELINE.width;
  let best = -1;
  let least = reach;
  for (const conn of row.conns) {
    const [from, to] = rangeOf(conn);
    for (let i = from; i < to; i++) {
      if (!MASK[i]) continue;
      const away = Math.max(0, REQ.start[i] - at, at - REQ.end[i]) - (isTrouble(i) ? reach / 2 : 0);
      if (away < least) [best, least] = [i, away];
    }
  }
  return best;
}

function hover(event: MouseEvent) {
  const { row } = rowUnder(event);
  const text = row ? hoverText(row, event) : null;
  if (!text) return hideTip();
  return showTip(text, event.clientX, event.clientY);
}

function hoverText(row: Row, event: MouseEvent) {
  if (row.kind === "cluster") return clusterText(timeAt(event));
  const at = timeAt(event);
  if (row.kind === "node") return nodeText(row.lane, at);
  const waits = waitsAt(row.kind === "conn" ? row.conn.client : row.number, at);
  const i = nearest(row, event);
  if (i >= 0) return [...requestLines(i), ...waits];
  if (waits.length) return waits;
  const band = row.kind === "client" && (BANDS.get(row.number) || []).find((one) => one.from_ns <= at && at <= one.to);
  return band ? band.lines : null;
}

function clusterText(at: number) {
  const reach = (5 * (VIEW.to - VIEW.from)) / TIMELINE.width;
  const near = STORY.topology.changes.filter((change) => Math.abs(change.ts_ns - at) < reach).slice(0, 6);
  const groups = STORY.rebalances.listed
    .filter((one) => (one.start_ns ?? 0) - reach < at && at < (one.end_ns ?? END) + reach)
    .slice(0, 3);
  const lines = [
    ...near.map((change) => `${clock(change.ts_ns)} ${change.text}`),
    ...groups.map((one) => `${clock(one.start_ns)} rebalance of ${one.group_id}: ${words(one.trigger)}`),
  ];
  return lines.length ? lines : null;
}

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

function keyed(event: KeyboardEvent) {
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
  return `Connection to ${nodeName(row.conn.node_id)}, ${row.conn.to}, ${count(row.conn.n_requests ?? 0, "request")}`;
}

function openCursor() {
  const row = ROWS[TIMELINE.cursor ?? -1];
  if (row?.kind === "client") toggleClient(row.number);
}

// The next or previous request of the row by time.
function stepRequest(by: number) {
  const row = TIMELINE.cursor === undefined ? ROWS.find(hasRequests) : ROWS[TIMELINE.cursor];
  if (!row || !hasRequests(row)) return;
  const from =
    VIEW.request >= 0 && row.conns.includes(REQ.conn[VIEW.request])
      ? REQ.start[VIEW.request]
      : by > 0
        ? VIEW.from - 1
        : VIEW.to;
  let best = -1;
  for (const conn of row.conns) {
    const near = neighbour(conn, from, by);
    if (near >= 0 && (best < 0 || (REQ.start[near] - REQ.start[best]) * by < 0)) best = near;
  }
  if (best >= 0) select(best);
}

function neighbour(conn: number, ns: number, by: number) {
  const [first, last] = [REQ.firstOf[conn], REQ.firstOf[conn + 1]];
  let i = by > 0 ? lowerBound(REQ.start, ns + 0.5, first, last) : lowerBound(REQ.start, ns, first, last) - 1;
  while (i >= first && i < last && !MASK[i]) i += by;
  return i >= first && i < last ? i : -1;
}

// Marks a request and keeps it in sight.
export function select(i: number) {
  VIEW.request = i;
  if (REQ.start[i] < VIEW.from || REQ.start[i] > VIEW.to) centre(REQ.start[i]);
  announce(requestLines(i).join(", "));
  viewChanged();
}

export function nextError() {
  const from = VIEW.request >= 0 && isTrouble(VIEW.request) ? REQ.start[VIEW.request] : VIEW.from - 1;
  let best = -1;
  for (let i = 0; i < REQ.n; i++) {
    if (!MASK[i] || !isTrouble(i) || REQ.start[i] <= from) continue;
    if (!VIEW.brokers && STORY.lanes.clients[STORY.lanes.connections[REQ.conn[i]].client].kind === "broker") continue;
    if (best < 0 || REQ.start[i] < REQ.start[best]) best = i;
  }
  if (best < 0) return announce("No further error");
  reveal(best);
  return openRequest(best);
}

// Opens the client of a request, scrolls to its lane and shows its time, closer where the view is wide.
export function reveal(i: number) {
  const conn = REQ.conn[i];
  const { client } = STORY.lanes.connections[conn];
  if (STORY.lanes.clients[client].kind === "broker") VIEW.brokers = true;
  VIEW.open.add(client);
  if (!MASK[i]) clearFilter();
  showFilter();
  layRows();
  const row = ROWS[rowOfConnection(conn)];
  if (row) TIMELINE.scroller.scrollTop = Math.max(0, row.top - TIMELINE.height / 2);
  const took = REQ.end[i] - REQ.start[i];
  const length = Math.min(VIEW.to - VIEW.from, Math.max(took * 6, END / 50, 1e8));
  setView(REQ.start[i] - length / 3, REQ.start[i] + (2 * length) / 3);
}
