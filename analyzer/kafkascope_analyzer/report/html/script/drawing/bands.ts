// Starts and recoveries on the lanes of clients.

import type { LongBand } from "../facts/bands.ts";
import { type BandBox, bandBoxes } from "../layout/bands.ts";
import type { ClientRow } from "../layout/rows.ts";
import { xOf } from "../layout/scale.ts";
import { INK } from "./ink.ts";
import { bandText, type TextBox, textWidth } from "./strokes.ts";

type PlacedBand = BandBox & { width: number; free: Record<string, number> };
type BandTextBox = PlacedBand & TextBox;

// A start: hatched one way, a line along its foot. An episode: hatched the other way, a line along its top.
export function drawBands(context: CanvasRenderingContext2D, row: ClientRow, top: number, width: number) {
  const free = { start: -1, recovery: -1 };
  const placed = bandBoxes(row, top, width);
  for (const { band, box } of placed) drawBand(context, band, box, { top, height: row.height });
  for (const { band, box } of placed) if (box.wide > 24) drawSteps(context, band, { ...box, width, free });
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
function drawSteps(context: CanvasRenderingContext2D, band: LongBand, box: PlacedBand) {
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
