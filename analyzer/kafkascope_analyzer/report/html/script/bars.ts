// What a row of the timeline draws: requests as bars where there is room, as density where there is not; bands; marks.

import { apiName, clientPlace, END, lowerBound, REQ, STORY } from "./data.ts";
import { isTrouble, MASK } from "./filter.ts";
import type { ClientRow, RequestRow, Row } from "./lanes.ts";
import { INK } from "./roles.ts";
import type { Band, LaneConnection } from "./story.d.ts";
import { VIEW } from "./view.ts";

// Where a row has its requests.
interface Box {
  top: number;
  height: number;
  width: number;
}

interface BandBox {
  y: number;
  left: number;
  wide: number;
  width: number;
  free: Record<string, number>;
}

interface TextBox {
  y: number;
  colour: string;
  room: number;
}

type BandTextBox = BandBox & TextBox;

// A band as it is drawn: up to the end of the capture where it is not over.
interface LongBand extends Band {
  to: number;
}

const BIN = 2;
const TROUBLE = 7;
const SHARES = new Float32Array(8 * 4096);

// canvas x of a time.
export function xOf(ns: number, width: number) {
  return ((ns - VIEW.from) / (VIEW.to - VIEW.from)) * width;
}

// The places of a connection's requests that reach into the view.
export function rangeOf(conn: number) {
  const first = REQ.firstOf[conn];
  const last = REQ.firstOf[conn + 1];
  if (first === last) return [0, 0];
  const from = lowerBound(REQ.start, VIEW.from - REQ.longest[conn], first, last);
  return [from, lowerBound(REQ.start, VIEW.to, from, last)];
}

export function drawRequests(context: CanvasRenderingContext2D, row: RequestRow, top: number, width: number) {
  const ranges = [];
  let n = 0;
  for (const conn of row.conns) {
    const [from, to] = rangeOf(conn);
    if (to > from) ranges.push([from, to]);
    n += to - from;
  }
  const box = bodyOf(row, top, width);
  if (n > Math.max(150, width / 3)) drawDensity(context, ranges, box);
  else for (const [from, to] of ranges) drawBars(context, from, to, box);
}

// Where a row has its requests: a client's lane keeps room above for episodes and below for starts.
export function bodyOf(row: Row, top: number, width: number) {
  return row.kind === "client" ? { top: top + 14, height: 20, width } : { top: top + 3, height: 14, width };
}

function drawBars(context: CanvasRenderingContext2D, from: number, to: number, box: Box) {
  const { top: y, height } = box;
  for (let i = from; i < to; i++) {
    if (!MASK[i] || REQ.end[i] < VIEW.from) continue;
    const x = xOf(REQ.start[i], box.width);
    const width = Math.max(2, xOf(REQ.end[i], box.width) - x);
    const family = STORY.requests.families[REQ.api[i]];
    context.fillStyle = width > 5 ? INK.patterns[family] : INK.families[family];
    context.fillRect(x, y, width, height);
    if (width > 7) outlined(context, [x, y, width, height], INK.families[family]);
    if (isTrouble(i)) drawError(context, x + (REQ.error[i] ? width : 0), y, height);
    if (i === VIEW.request) outlined(context, [x - 2, y - 2, width + 4, height + 4], INK.ink, 2);
    if (width > 60) barText(context, i, [x, y, width, height]);
  }
}

export function outlined(
  context: CanvasRenderingContext2D,
  [x, y, width, height]: number[],
  colour: string,
  line: number = 1,
) {
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
}

const TEXT_WIDTHS = new Map<string, number>();

export function textWidth(context: CanvasRenderingContext2D, text: string) {
  const known = TEXT_WIDTHS.get(text) ?? context.measureText(text).width;
  TEXT_WIDTHS.set(text, known);
  return known;
}

function barText(context: CanvasRenderingContext2D, i: number, [x, y, width, height]: number[]) {
  const left = Math.max(x, 0) + 4;
  const text = apiName(i);
  const wide = textWidth(context, text);
  if (wide + 10 > x + width - left) return;
  context.fillStyle = INK.surface;
  context.fillRect(left - 2, y + 1, wide + 4, height - 2);
  context.fillStyle = INK.ink;
  context.fillText(text, left, y + height / 2 + 0.5);
}

// An error is a triangle at the top of the lane, as tall as it is red.
export function drawError(context: CanvasRenderingContext2D, x: number, y: number, height: number) {
  context.fillStyle = INK.error;
  context.beginPath();
  context.moveTo(x - 4, y - 4);
  context.lineTo(x + 4, y - 4);
  context.lineTo(x, y + 4);
  context.fill();
  context.fillRect(x - 0.5, y, 1, height);
}

// Requests by column of BIN pixels, stacked by family; the height grows with the logarithm of their number.
function drawDensity(context: CanvasRenderingContext2D, ranges: number[][], box: Box) {
  const nBins = Math.min(4096, Math.ceil(box.width / BIN));
  SHARES.fill(0, 0, nBins * 8);
  for (const [from, to] of ranges) fillBins(from, to, nBins);
  const base = box.top + box.height;
  const tallest = box.height;
  const errors = [];
  for (let bin = 0; bin < nBins; bin++) {
    const at = bin * 8;
    let sum = 0;
    for (let family = 0; family < TROUBLE; family++) sum += SHARES[at + family];
    if (!sum) continue;
    if (SHARES[at + TROUBLE]) errors.push(bin * BIN);
    drawStack(context, at, { x: bin * BIN, base, height: Math.min(tallest, 3 + Math.log2(1 + sum) * 2.2), sum });
  }
  for (const x of errors) drawError(context, x + 1, box.top + 1, 4);
}

function fillBins(from: number, to: number, nBins: number) {
  const scale = nBins / (VIEW.to - VIEW.from);
  for (let i = from; i < to; i++) {
    if (!MASK[i]) continue;
    const bin = Math.floor((REQ.start[i] - VIEW.from) * scale);
    if (bin < 0 || bin >= nBins) continue;
    SHARES[bin * 8 + STORY.requests.families[REQ.api[i]]] += REQ.weight[i];
    if (isTrouble(i)) SHARES[bin * 8 + TROUBLE] += REQ.weight[i];
  }
}

function drawStack(
  context: CanvasRenderingContext2D,
  at: number,
  { x, base, height, sum }: { x: number; base: number; height: number; sum: number },
) {
  let y = base;
  for (let family = 0; family < TROUBLE; family++) {
    const share = SHARES[at + family];
    if (!share) continue;
    const tall = Math.max(1, (share / sum) * height);
    y -= tall;
    context.fillStyle = INK.families[family];
    context.fillRect(x, y, BIN - 0.4, tall);
  }
}

// A start: hatched one way, a line along its foot. An episode: hatched the other way, a line along its top.
export function drawBands(context: CanvasRenderingContext2D, row: ClientRow, top: number, width: number) {
  const free = { start: -1, recovery: -1 };
  const seen = (BANDS.get(row.number) || []).filter((band) => band.to >= VIEW.from && band.from_ns <= VIEW.to);
  const boxes = seen.map((band) => {
    const left = Math.max(-5, xOf(band.from_ns, width));
    const y = band.kind === "start" ? top + row.height - 10 : top + 2;
    return { y, left, wide: Math.max(2, Math.min(width + 5, xOf(band.to, width)) - left), width, free };
  });
  for (const [n, band] of seen.entries()) drawBand(context, band, boxes[n], { top, height: row.height });
  for (const [n, band] of seen.entries()) if (boxes[n].wide > 24) drawSteps(context, band, boxes[n]);
}

function drawBand(
  context: CanvasRenderingContext2D,
  band: LongBand,
  { left, wide }: BandBox,
  { top, height }: { top: number; height: number },
) {
  const start = band.kind === "start";
  context.fillStyle = start ? INK.starting : INK.recovery;
  context.fillRect(left, start ? top + height / 2 : top + 1, wide, height / 2 - 2);
  context.fillStyle = start ? INK.start : INK.error;
  context.fillRect(left, start ? top + height - 3 : top + 1, wide, 2);
}

// Ticks of a band's steps, with names where they have room; else what the band is.
function drawSteps(context: CanvasRenderingContext2D, band: LongBand, box: BandBox) {
  const colour = band.kind === "start" ? INK.start : INK.error;
  const roomy = band.steps.length > 2 && box.wide > Math.max(500, band.steps.length * 70);
  context.fillStyle = colour;
  for (const ns of band.steps_at_ns) {
    const x = xOf(ns, box.width);
    if (x >= 0 && x <= box.width) context.fillRect(x, box.y, 1, 8);
  }
  if (!roomy) return bandTitle(context, band, Math.max(0, box.left) + 4, { ...box, colour, room: box.wide - 8 });
  return band.steps.forEach((name, n) => {
    const x = xOf(band.steps_at_ns[n], box.width);
    const next = n + 1 < band.steps.length ? xOf(band.steps_at_ns[n + 1], box.width) : box.left + box.wide;
    if (x >= 0 && x <= box.width) bandText(context, name, x + 3, { ...box, colour, room: next - x - 6 });
  });
}

// The band's title, where none of an earlier band is already there.
function bandTitle(context: CanvasRenderingContext2D, band: LongBand, x: number, box: BandTextBox) {
  if (x < box.free[band.kind]) return;
  box.free[band.kind] = x + textWidth(context, band.title) + 6;
  bandText(context, band.title, x, box);
}

export function bandText(context: CanvasRenderingContext2D, text: string, x: number, { y, colour, room }: TextBox) {
  const wide = textWidth(context, text);
  if (wide > room) return;
  context.fillStyle = INK.stripe;
  context.fillRect(x - 1, y, wide + 2, 10);
  context.fillStyle = colour;
  context.fillText(text, x, y + 5.5);
}

export const BANDS = new Map<number, LongBand[]>();

export function prepareBands() {
  for (const band of STORY.bands) {
    const number = clientPlace(band.client_instance_id);
    if (number < 0) continue;
    BANDS.set(number, [...(BANDS.get(number) ?? []), { ...band, to: band.to_ns ?? END }]);
  }
}

// Ends of connections: how they are drawn says who ended them and how.
export function drawEnds(context: CanvasRenderingContext2D, row: RequestRow, top: number, width: number) {
  const body = bodyOf(row, top, width);
  const middle = body.top + body.height / 2;
  for (const number of row.conns) {
    const conn = STORY.lanes.connections[number];
    if (row.kind === "conn") drawLife(context, conn, middle, width);
    const at = conn.close_ns ?? (["refused", "unanswered"].includes(conn.close_kind ?? "") ? conn.last_ns : null);
    if (at === null || at < VIEW.from || at > VIEW.to || conn.close_kind === "open") continue;
    if (row.kind === "conn" || conn.close_kind !== "fin_client")
      drawEnd(context, conn.close_kind, xOf(at, width), middle);
  }
}

function drawLife(context: CanvasRenderingContext2D, conn: LaneConnection, middle: number, width: number) {
  const from = Math.max(0, xOf(conn.first_ns, width));
  const to = Math.min(width, xOf(conn.last_ns, width));
  if (to <= from) return;
  context.fillStyle = INK.line;
  context.fillRect(from, middle - 0.5, to - from, 1);
}

export function drawEnd(context: CanvasRenderingContext2D, kind: string | null, x: number, middle: number) {
  const bad = kind !== "fin_client" && kind !== "fin_server";
  context.strokeStyle = bad ? INK.error : INK.muted;
  context.lineWidth = 1.6;
  context.beginPath();
  if (bad) {
    context.moveTo(x - 4, middle - 4);
    context.lineTo(x + 4, middle + 4);
    context.moveTo(x + 4, middle - 4);
    context.lineTo(x - 4, middle + 4);
  } else {
    const side = kind === "fin_server" ? 3 : -3;
    context.moveTo(x + side, middle - 5);
    context.lineTo(x, middle - 5);
    context.lineTo(x, middle + 5);
    context.lineTo(x + side, middle + 5);
  }
  context.stroke();
}
