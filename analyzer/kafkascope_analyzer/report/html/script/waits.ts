// Lanes of brokers with the states that their packets show, and waits of clients on their lanes. A state or a wait is
// hatched and has its words, so that its colour alone never decides.

import { bandText, bodyOf, outlined, textWidth, xOf } from "./bars.ts";
import { clientPlace, END, STORY } from "./data.ts";
import { details, el, table } from "./dom.ts";
import { clock, outcome } from "./figures.ts";
import type { NodeRow, RequestRow } from "./lanes.ts";
import { INK } from "./roles.ts";
import type { BrokerLane, StallBand, Stretch } from "./story.d.ts";
import { VIEW } from "./view.ts";

// A wait as it is drawn: up to the end of the capture where it is not over.
interface LongWait extends StallBand {
  from: number;
  to: number;
}

export const NODE_ROW = 22;
const WAITS = new Map<number, LongWait[]>();

export function prepareWaits() {
  for (const wait of STORY.stalls) {
    const number = clientPlace(wait.client_instance_id ?? "");
    if (number < 0) continue;
    const mine = WAITS.get(number) ?? [];
    WAITS.set(number, [...mine, { ...wait, from: wait.from_ns, to: wait.to_ns ?? END }]);
  }
}

// The part of a stretch that is in view, as [left, width] on the canvas; null where none is.
function extent(from: number, to: number, width: number) {
  if (to < VIEW.from || from > VIEW.to) return null;
  const left = Math.max(-5, xOf(from, width));
  return [left, Math.max(3, Math.min(width + 5, xOf(to, width)) - left)];
}

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

// Words on a hatched stretch, on a plain ground, where they have room: whole, else without what stands in brackets.
function hatchText(
  context: CanvasRenderingContext2D,
  text: string,
  [left, wide]: number[],
  { y, colour }: { y: number; colour: string },
) {
  const x = Math.max(0, left) + 5;
  const room = left + wide - x - 3;
  const short = text.replace(/ \(.*\)$/, "");
  const shown = [text, short, text.split(/[:(]/)[0].trim(), text.split(" ")[0]].find(
    (one) => textWidth(context, one) <= room,
  );
  if (shown) bandText(context, shown, x, { y, colour, room });
}

// Waits on a client's lane, or on a connection to the broker that was waited on: over the requests, which stay faintly
// visible, so that a request that took the whole wait does not look like work.
export function drawWaits(context: CanvasRenderingContext2D, row: RequestRow, top: number, width: number) {
  const mine = (WAITS.get(row.kind === "conn" ? row.conn.client : row.number) || []).filter(
    (wait) => row.kind !== "conn" || wait.node_id === row.conn.node_id,
  );
  const body = bodyOf(row, top, width);
  const drawn = joined(mine).flatMap(({ from, to, text }) => {
    const box = extent(from, to, width);
    return box ? [{ box, text }] : [];
  });
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

// Waits that overlap as one stretch, with the words of the longest.
function joined(waits: LongWait[]) {
  const made: { from: number; to: number; text: string; most: number }[] = [];
  for (const wait of waits) {
    const last = made.at(-1);
    if (!last || wait.from > last.to) {
      made.push({ from: wait.from, to: wait.to, text: wait.text, most: wait.to - wait.from });
      continue;
    }
    last.to = Math.max(last.to, wait.to);
    if (wait.to - wait.from > last.most) Object.assign(last, { text: wait.text, most: wait.to - wait.from });
  }
  return made;
}

export function waitsAt(number: number, at: number) {
  const found = (WAITS.get(number) || []).filter((wait) => wait.from <= at && at <= wait.to).slice(0, 4);
  return found.map((wait) => `${clock(wait.from)} ${wait.text}`);
}

export function nodeText(lane: BrokerLane, at: number) {
  const found = [...lane.failing, ...lane.serving].filter((one) => one.from_ns <= at && at <= (one.to_ns ?? END));
  return found.length ? [lane.label, ...found.map(stretchText)] : [lane.label, "nobody waited for anything"];
}

export function stretchText(one: Stretch) {
  return `${one.text}, ${one.begun} to ${one.ended}`;
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
