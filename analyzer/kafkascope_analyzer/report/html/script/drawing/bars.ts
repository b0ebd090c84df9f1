// Requests of a row: as bars where there is room, as density where there is not.

import { apiName, REQ, STORY } from "../facts/data.ts";
import { isTrouble, MASK } from "../facts/filter.ts";
import { BIN, fillShares, SHARES, TROUBLE } from "../layout/density.ts";
import { bodyOf, type RequestRow } from "../layout/rows.ts";
import { rangeOf, xOf } from "../layout/scale.ts";
import { VIEW } from "../layout/view.ts";
import { INK } from "./ink.ts";
import { drawError, outlined, textWidth } from "./strokes.ts";

// Where a row has its requests.
interface Box {
  top: number;
  height: number;
  width: number;
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

// Requests by column of BIN pixels, stacked by family; the height grows with the logarithm of their number.
function drawDensity(context: CanvasRenderingContext2D, ranges: number[][], box: Box) {
  const nBins = fillShares(ranges, box.width);
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
