// Waits of clients on their lanes. A wait is hatched and has its words, so that its colour alone never decides.

import { bodyOf, type RequestRow } from "../layout/rows.ts";
import { waitBoxes } from "../layout/waits.ts";
import { INK } from "./ink.ts";
import { hatchText, outlined } from "./strokes.ts";

// Over the requests, which stay faintly visible, so that a request that took the whole wait does not look like work.
export function drawWaits(context: CanvasRenderingContext2D, row: RequestRow, top: number, width: number) {
  const body = bodyOf(row, top, width);
  const drawn = waitBoxes(row, width);
  for (const { box } of drawn) {
    context.globalAlpha = 0.8;
    context.fillStyle = INK.surface;
    context.fillRect(box[0], body.top, box[1], body.height);
    context.globalAlpha = 1;
    context.fillStyle = INK.waiting;
    context.fillRect(box[0], body.top, box[1], body.height);
    outlined(context, [box[0], body.top, box[1], body.height], INK.warning);
  }
  const y = body.top + body.height / 2 - 5;
  for (const { box, text } of drawn) hatchText(context, text, box, { y, colour: INK.warning });
}
