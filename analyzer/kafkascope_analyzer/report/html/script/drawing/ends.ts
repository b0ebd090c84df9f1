// Ends of connections on their lanes.

import { STORY } from "../facts/data.ts";
import type { LaneConnection } from "../facts/story.d.ts";
import { bodyOf, type RequestRow } from "../layout/rows.ts";
import { xOf } from "../layout/scale.ts";
import { VIEW } from "../layout/view.ts";
import { INK } from "./ink.ts";
import { drawEnd } from "./strokes.ts";

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
