// The timeline's first row: moves of leaders and coordinators, brokers that went and came back, rebalances.

import { END, STORY } from "../facts/data.ts";
import type { Change, Rebalance } from "../facts/story.d.ts";
import { CLUSTER_ROW } from "../layout/rows.ts";
import { xOf } from "../layout/scale.ts";
import { VIEW } from "../layout/view.ts";
import { INK } from "./ink.ts";
import { drawEnd } from "./strokes.ts";

// Moves of leaders and coordinators (diamonds), brokers that went (cross) and came back (ring), rebalances (bars).
export function drawCluster(context: CanvasRenderingContext2D, top: number, width: number) {
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
