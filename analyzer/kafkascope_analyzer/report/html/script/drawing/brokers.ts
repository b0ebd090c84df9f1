// Lanes of brokers with the states that their packets show. A state is hatched and has its words.

import { END, STORY } from "../facts/data.ts";
import { NODE_ROW, type NodeRow } from "../layout/rows.ts";
import { extent } from "../layout/scale.ts";
import { details, el } from "./dom.ts";
import { INK } from "./ink.ts";
import { outcome } from "./signs.ts";
import { hatchText, outlined } from "./strokes.ts";
import { table } from "./table.ts";

export function drawNode(context: CanvasRenderingContext2D, row: NodeRow, top: number, width: number) {
  const middle = top + NODE_ROW / 2;
  for (const one of row.lane.serving) {
    const box = extent(one.from_ns, one.to_ns ?? END, width);
    context.fillStyle = INK.good;
    if (box) context.fillRect(box[0], middle - 1.5, box[1], 3);
  }
  for (const one of row.lane.failing) {
    const box = extent(one.from_ns, one.to_ns ?? END, width);
    if (!box) continue;
    context.fillStyle = INK.stripe;
    context.fillRect(box[0], top + 2, box[1], NODE_ROW - 5);
    context.fillStyle = one.state === "slow" ? INK.slow : INK.recovery;
    context.fillRect(box[0], top + 2, box[1], NODE_ROW - 5);
    outlined(context, [box[0], top + 2, box[1], NODE_ROW - 5], one.state === "slow" ? INK.warning : INK.error);
    hatchText(context, one.text, box, { y: top + 6, colour: one.state === "slow" ? INK.warning : INK.error });
  }
}

export function nodeLabel(row: NodeRow) {
  const { label, short_label, outcome: fared, in_short } = row.lane;
  return el("div", { class: "label node", title: label }, el("strong", {}, short_label), outcome(fared, in_short));
}

// The lanes of brokers as text.
export function brokerTable() {
  const rows = STORY.broker_lanes.flatMap((lane) =>
    lane.failing.map((one) => [lane.label, one.text, one.begun, one.ended, one.lasted]),
  );
  if (!rows.length) return null;
  const columns = [["Broker"], ["State"], ["From", "num"], ["To", "num"], ["For", "num"]];
  return details(
    `Table of broker states other than serving (${rows.length})`,
    false,
    table("Broker states", columns, rows),
  );
}
