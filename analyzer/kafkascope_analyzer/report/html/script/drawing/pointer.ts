// Wheel, drag, pinch, hover and click on the timeline.

import { BANDS } from "../facts/bands.ts";
import { changesNear } from "../facts/cluster_at.ts";
import { requestLines } from "../facts/requests.ts";
import { nodeText, waitsAt } from "../facts/waits.ts";
import { nearest } from "../layout/nearest.ts";
import { ROWS, type Row, rowAt } from "../layout/rows.ts";
import { pan, setView, VIEW, viewChanged, zoom } from "../layout/view.ts";
import { showClient } from "./clients.ts";
import { keyed } from "./keys.ts";
import { openRequest } from "./panel.ts";
import { TIMELINE } from "./stage.ts";
import { hideTip, showTip } from "./tip.ts";

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
  const found = row ? nearest(row, timeAt(event), reachOf(4)) : -1;
  if (found >= 0) return openRequest(found);
  if (row && row.kind === "client") showClient(row.number, false);
  return viewChanged();
}

function rowUnder(event: MouseEvent) {
  const y = event.clientY - TIMELINE.canvas.getBoundingClientRect().top + TIMELINE.scroller.scrollTop;
  const n = rowAt(y);
  return { row: ROWS[n], n };
}

// The time that some pixels are, ns.
function reachOf(pixels: number) {
  return (pixels * (VIEW.to - VIEW.from)) / TIMELINE.width;
}

function hover(event: MouseEvent) {
  const { row } = rowUnder(event);
  const text = row ? hoverText(row, event) : null;
  if (!text) return hideTip();
  return showTip(text, event.clientX, event.clientY);
}

function hoverText(row: Row, event: MouseEvent) {
  const at = timeAt(event);
  if (row.kind === "cluster") return changesNear(at, reachOf(5));
  if (row.kind === "node") return nodeText(row.lane, at);
  const waits = waitsAt(row.kind === "conn" ? row.conn.client : row.number, at);
  const i = nearest(row, at, reachOf(4));
  if (i >= 0) return [...requestLines(i), ...waits];
  if (waits.length) return waits;
  const band = row.kind === "client" && (BANDS.get(row.number) || []).find((one) => one.from_ns <= at && at <= one.to);
  return band ? band.lines : null;
}
