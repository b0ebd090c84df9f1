// The timeline: canvas and labels over the rows that are in sight, with a ruler above.

import { drawBands, drawEnd, drawEnds, drawRequests, outlined, xOf } from "./bars.ts";
import { END, STORY } from "./data.ts";
import { button, byId, details, el, isNarrow, replace, section } from "./dom.ts";
import { clock, count, grouped, span } from "./figures.ts";
import { filterForm } from "./filter.ts";
import { inView } from "./in_view.ts";
import { CLUSTER_ROW, labelOf, openAll, ROWS, ROWS_HEIGHT, type Row, rowAt } from "./lanes.ts";
import { minimap, resizedMinimap } from "./minimap.ts";
import { nextError } from "./pointer.ts";
import { ratesStrip, ratesTable, resizedRates } from "./rates.ts";
import { INK, readInk, swatch } from "./roles.ts";
import type { Change, Rebalance } from "./story.d.ts";
import { hideTip, tipBox } from "./tip.ts";
import { pan, setView, VIEW, viewChanged, zoom } from "./view.ts";
import { brokerTable, drawNode, drawWaits } from "./waits.ts";

const RULER = 26;
const LABELS_WIDTH = 250;
// The elements of the timeline, and what it draws with. Complete once the section is made and `resized` was called.
interface Timeline {
  canvas: HTMLCanvasElement;
  labels: HTMLElement;
  ruler: HTMLCanvasElement;
  sticky: HTMLElement;
  spacer: HTMLElement;
  scroller: HTMLElement;
  labelsWidth: number;
  width: number;
  height: number;
  ratio: number;
  context: CanvasRenderingContext2D;
  rulerContext: CanvasRenderingContext2D;
  labelled: string | null;
  cursor?: number;
  drag?: { x: number; y: number; from: number; moved: boolean; select: number | null };
  pinch?: { apart: number };
}

export const TIMELINE = {} as Timeline;

export function timelineSection() {
  TIMELINE.canvas = el("canvas", {
    class: "lanes",
    tabindex: "0",
    role: "application",
    "aria-label": "Timeline of requests by client and connection",
    "aria-describedby": "timeline-keys",
  });
  TIMELINE.labels = el("div", { class: "labels" });
  TIMELINE.ruler = el("canvas", { class: "ruler", "aria-hidden": "true" });
  TIMELINE.sticky = el("div", { class: "sticky" }, TIMELINE.labels, TIMELINE.canvas);
  TIMELINE.spacer = el("div", { class: "spacer" }, TIMELINE.sticky);
  TIMELINE.scroller = el("div", { class: "scroller", onscroll: scrolled }, TIMELINE.spacer);
  const box = el(
    "div",
    { class: "timeline" },
    minimap(),
    el("div", { class: "head" }, el("div", { class: "when", id: "when" }), TIMELINE.ruler),
    ratesStrip(),
    TIMELINE.scroller,
    tipBox(),
  );
  return section(
    "timeline",
    "Timeline",
    isNarrow() ? details("Filter", false, filterForm()) : filterForm(),
    isNarrow() ? details("Legend", false, legend()) : legend(),
    zoomButtons(),
    box,
    timelineKeys(),
    thinned(),
    ratesTable(),
    brokerTable(),
    inView(),
  );
}

function legend() {
  const families = STORY.families.map((family, n) => el("li", {}, swatch(n), family.title));
  const marks = [
    ["▼", "error or no answer", "error"],
    ["✕", "reset, refused, unanswered", "error"],
    ["⊐", "closed: server, client (⊏)", "muted"],
    ["◆", "leader or coordinator moved", "accent"],
    ["▨", "start", "start"],
    ["▧", "recovery; broker that does not serve", "error"],
    ["▦", "wait of a client that stood still", "warning"],
  ];
  return el(
    "ul",
    { class: "legend", "aria-label": "Legend" },
    families,
    marks.map(([sign, text, tone]) =>
      el("li", {}, el("span", { class: `sign ${tone}`, "aria-hidden": "true" }, sign), text),
    ),
  );
}

function zoomButtons() {
  const middle = () => (VIEW.from + VIEW.to) / 2;
  const extra = { class: "small" };
  return el(
    "div",
    { class: "zoom", role: "group", "aria-label": "Zoom and move" },
    button("◂ Earlier", () => pan(-0.5), extra),
    button("Later ▸", () => pan(0.5), extra),
    button("+ Zoom in", () => zoom(0.5, middle()), extra),
    button("− Zoom out", () => zoom(2, middle()), extra),
    button("Whole capture", () => setView(0, END), extra),
    button("Next error", () => nextError(), extra),
    button("Open all", () => openAll(true), extra),
    button("Close all", () => openAll(false), extra),
  );
}

function timelineKeys() {
  return el(
    "p",
    { class: "hint", id: "timeline-keys" },
    "Drag to move; Ctrl + wheel or pinch to zoom (after a click into the timeline the wheel alone); Shift + drag to zoom into a stretch. Keys: ← → move, + − zoom, 0 all, ↑ ↓ row, N P next and previous request in the row, Enter shows it, O opens the client, E next error.",
  );
}

function thinned() {
  const { n, n_kept, n_unplaced, stretches } = STORY.requests;
  const parts = [];
  if (n_kept < n - n_unplaced) {
    parts.push(
      `The page has ${grouped(n_kept)} of ${count(n, "request")}: ` +
        `${stretches.other ? "requests" : "successful data requests and heartbeats"} of a connection that are close together are drawn as one, the slowest of them, which says how many it stands for. ` +
        `${stretches.other ? "" : "All errors and all other requests are here. "}Densities count all; the tables of the dataset have each.`,
    );
  }
  if (n_unplaced) parts.push(`${count(n_unplaced, "request")} are on connections that have no lane here.`);
  const lanes = STORY.lanes;
  if (lanes.connections.length < lanes.n_connections)
    parts.push(
      `${grouped(lanes.connections.length)} of ${count(lanes.n_connections, "connection")} have a lane: those with most errors and requests.`,
    );
  return parts.length ? el("p", { class: "hint", id: "thinned" }, parts.join(" ")) : null;
}

export function rowsChanged() {
  if (!TIMELINE.spacer) return;
  TIMELINE.labelled = null;
  const seen = Math.min(window.innerHeight * 0.68, 760, ROWS_HEIGHT + 2);
  TIMELINE.height = Math.max(120, Math.round(seen));
  TIMELINE.scroller.style.height = `${TIMELINE.height}px`;
  TIMELINE.sticky.style.height = `${TIMELINE.height}px`;
  TIMELINE.spacer.style.height = `${Math.max(ROWS_HEIGHT, TIMELINE.height)}px`;
}

function scrolled() {
  hideTip();
  viewChanged();
}

// Canvas size follows the page; INK follows light and dark.
export function resized() {
  TIMELINE.labelsWidth = isNarrow() ? 130 : LABELS_WIDTH;
  document.documentElement.style.setProperty("--labels", `${TIMELINE.labelsWidth}px`);
  TIMELINE.width = Math.max(100, TIMELINE.scroller.clientWidth - TIMELINE.labelsWidth);
  rowsChanged();
  TIMELINE.ratio = Math.min(2, window.devicePixelRatio || 1);
  TIMELINE.context = sized(TIMELINE.canvas, TIMELINE.width, TIMELINE.height);
  TIMELINE.rulerContext = sized(TIMELINE.ruler, TIMELINE.width, RULER);
  readInk(TIMELINE.context);
  resizedMinimap();
  resizedRates();
  viewChanged();
}

export function sized(canvas: HTMLCanvasElement, width: number, height: number) {
  canvas.width = Math.round(width * TIMELINE.ratio);
  canvas.height = Math.round(height * TIMELINE.ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  context.setTransform(TIMELINE.ratio, 0, 0, TIMELINE.ratio, 0, 0);
  context.font = "10px system-ui, sans-serif";
  context.textBaseline = "middle";
  return context;
}

export function drawTimeline() {
  const { context, width, height } = TIMELINE;
  if (TIMELINE.canvas.height !== Math.round(height * TIMELINE.ratio)) sized(TIMELINE.canvas, width, height);
  const scroll = TIMELINE.scroller.scrollTop;
  context.clearRect(0, 0, width, height);
  const first = rowAt(scroll);
  for (let n = first; n < ROWS.length && ROWS[n].top < scroll + height; n++)
    drawRow(context, ROWS[n], ROWS[n].top - scroll, n);
  drawRuler();
  drawLabels(first, scroll);
}

function drawRow(context: CanvasRenderingContext2D, row: Row, top: number, n: number) {
  const { width } = TIMELINE;
  context.fillStyle = row.kind === "conn" ? INK.surface : INK.stripe;
  context.fillRect(0, top, width, row.height - 1);
  if (n === TIMELINE.cursor && document.activeElement === TIMELINE.canvas)
    outlined(context, [0, top, width, row.height - 1], INK.accent, 2);
  drawGrid(context, top, row.height);
  if (row.kind === "cluster") return drawCluster(context, top, width);
  if (row.kind === "node") return drawNode(context, row, top, width);
  if (row.kind === "client") drawBands(context, row, top, width);
  drawEnds(context, row, top, width);
  drawRequests(context, row, top, width);
  return drawWaits(context, row, top, width);
}

function drawGrid(context: CanvasRenderingContext2D, top: number, height: number) {
  context.fillStyle = INK.line;
  for (const ns of ticks().found) context.fillRect(Math.round(xOf(ns, TIMELINE.width)), top, 1, height - 1);
}

// Round times, some 90 pixels apart.
function ticks() {
  const wish = ((VIEW.to - VIEW.from) * 90) / TIMELINE.width;
  const power = 10 ** Math.floor(Math.log10(wish));
  const nice = [1, 2, 5, 10].map((n) => n * power);
  const step =
    wish > 1e9
      ? ([1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400]
          .map((s) => s * 1e9)
          .find((s) => s >= wish) ?? nice[3])
      : (nice.find((s) => s >= wish) ?? nice[3]);
  const found: number[] = [];
  for (let ns = Math.ceil(VIEW.from / step) * step; ns < VIEW.to; ns += step) found.push(ns);
  return { step, found };
}

function drawRuler() {
  const context = TIMELINE.rulerContext;
  context.clearRect(0, 0, TIMELINE.width, RULER);
  const { step, found } = ticks();
  const digits = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(step))));
  context.fillStyle = INK.muted;
  for (const ns of found) {
    const x = Math.round(xOf(ns, TIMELINE.width));
    context.fillRect(x, RULER - 7, 1, 7);
    context.fillText(clock(ns, step >= 1e9 ? 0 : digits), x + 4, RULER / 2);
  }
  byId("when").textContent = `${clock(VIEW.from)} – ${clock(VIEW.to)} (${span((VIEW.to - VIEW.from) / 1000)})`;
}

function keyOf(row: Row): string {
  return "number" in row ? row.kind + row.number : row.kind;
}

// The labels of the rows in sight; made again only where the rows or the scroll position changed.
function drawLabels(first: number, scroll: number) {
  const state = `${scroll}:${TIMELINE.height}`;
  if (TIMELINE.labelled === state) return;
  TIMELINE.labelled = state;
  const focused = document.activeElement?.closest<HTMLElement>(".label")?.dataset.row;
  const made = [];
  for (let n = first; n < ROWS.length && ROWS[n].top < scroll + TIMELINE.height; n++) {
    const label = labelOf(ROWS[n]);
    label.style.top = `${ROWS[n].top - scroll}px`;
    label.style.height = `${ROWS[n].height - 1}px`;
    label.dataset.row = keyOf(ROWS[n]);
    made.push(label);
  }
  replace(TIMELINE.labels, made);
  if (focused)
    made
      .find((label) => label.dataset.row === focused)
      ?.querySelector("button")
      ?.focus();
}

// Moves of leaders and coordinators (diamonds), brokers that went (cross) and came back (ring), rebalances (bars).
function drawCluster(context: CanvasRenderingContext2D, top: number, width: number) {
  const middle = top + CLUSTER_ROW / 2;
  for (const rebalance of STORY.rebalances.listed) drawRebalance(context, rebalance, top, width);
  for (const change of STORY.topology.changes) {
    if (change.ts_ns < VIEW.from || change.ts_ns > VIEW.to) continue;
    const x = xOf(change.ts_ns, width);
    if (change.kind === "broker") drawBrokerMark(context, change, x, middle);
    else diamond(context, x, middle, change.kind.endsWith("coordinator") ? INK.families[3] : INK.accent);
  }
}

function drawRebalance(context: CanvasRenderingContext2D, rebalance: Rebalance, top: number, width: number) {
  const end = rebalance.end_ns ?? END;
  const start = rebalance.start_ns ?? 0;
  if (end < VIEW.from || start > VIEW.to) return;
  const x = xOf(start, width);
  context.fillStyle = INK.patterns[3];
  context.fillRect(x, top + CLUSTER_ROW - 7, Math.max(3, xOf(end, width) - x), 5);
}

function diamond(context: CanvasRenderingContext2D, x: number, y: number, colour: string) {
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x, y - 6);
  context.lineTo(x + 5, y);
  context.lineTo(x, y + 6);
  context.lineTo(x - 5, y);
  context.fill();
}

function drawBrokerMark(context: CanvasRenderingContext2D, change: Change, x: number, y: number) {
  if (change.what === "gone") return drawEnd(context, "rst_server", x, y);
  context.strokeStyle = INK.good;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x, y, 4, 0, 7);
  return context.stroke();
}
