// The timeline: canvas and labels over the rows that are in sight, with a ruler above.

import { clock, span } from "../facts/figures.ts";
import { keyOf, onRows, ROWS, ROWS_HEIGHT, type Row, rowAt } from "../layout/rows.ts";
import { ticks, xOf } from "../layout/scale.ts";
import { VIEW, viewChanged } from "../layout/view.ts";
import { drawBands } from "./bands.ts";
import { drawRequests } from "./bars.ts";
import { brokerTable, drawNode } from "./brokers.ts";
import { drawCluster } from "./cluster_row.ts";
import { legend, thinned, timelineKeys, zoomButtons } from "./controls.ts";
import { byId, details, el, isNarrow, replace, section } from "./dom.ts";
import { drawEnds } from "./ends.ts";
import { filterForm } from "./filter_form.ts";
import { inView } from "./in_view.ts";
import { INK, readInk } from "./ink.ts";
import { labelOf } from "./labels.ts";
import { minimap, resizedMinimap } from "./minimap.ts";
import { ratesStrip, ratesTable, resizedRates } from "./rates.ts";
import { sized, TIMELINE } from "./stage.ts";
import { outlined } from "./strokes.ts";
import { hideTip, tipBox } from "./tip.ts";
import { drawWaits } from "./waits.ts";

const RULER = 26;
const LABELS_WIDTH = 250;

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
  onRows(rowsChanged);
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

function rowsChanged() {
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
  for (const ns of ticks(TIMELINE.width).found)
    context.fillRect(Math.round(xOf(ns, TIMELINE.width)), top, 1, height - 1);
}

function drawRuler() {
  const context = TIMELINE.rulerContext;
  context.clearRect(0, 0, TIMELINE.width, RULER);
  const { step, found } = ticks(TIMELINE.width);
  const digits = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(step))));
  context.fillStyle = INK.muted;
  for (const ns of found) {
    const x = Math.round(xOf(ns, TIMELINE.width));
    context.fillRect(x, RULER - 7, 1, 7);
    context.fillText(clock(ns, step >= 1e9 ? 0 : digits), x + 4, RULER / 2);
  }
  byId("when").textContent = `${clock(VIEW.from)} – ${clock(VIEW.to)} (${span((VIEW.to - VIEW.from) / 1000)})`;
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
