// Above the lanes, on their scale of time: a row for each family of APIs with the requests a second as bars, and above
// them the 99th percentile of their latency. Triangles are slots in which requests failed. Both heights grow with the
// square root, up to the family's own most. All numbers and words are those of report.json, which counts every request.

import { STORY } from "../facts/data.ts";
import { grouped } from "../facts/figures.ts";
import type { FamilyRates, RateSlot } from "../facts/story.d.ts";
import { boxOf, heightOf, slotAt } from "../layout/rates.ts";
import { xOf } from "../layout/scale.ts";
import { VIEW, viewChanged } from "../layout/view.ts";
import { announce, details, el, filledWhenOpen, hint } from "./dom.ts";
import { INK, swatch } from "./ink.ts";
import { sized, TIMELINE } from "./stage.ts";
import { drawError } from "./strokes.ts";
import { table } from "./table.ts";
import { hideTip, showTip } from "./tip.ts";

const ROW = 34;
const LATENCY = 14;
const KEYS_TEXT = "Keys: ← → slot, ↑ ↓ group. Heights grow with the square root.";

// The chosen slot: places of the family and of the slot in its list; none until the strip has the focus.
const RATES = { row: 0, slot: 0 } as {
  canvas: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  row: number;
  slot: number;
};

export function ratesStrip() {
  const { families, slot_text } = STORY.request_rates;
  if (!families.length) return null;
  RATES.canvas = el("canvas", {
    class: "rates",
    tabindex: "0",
    role: "application",
    "aria-label": `Requests a second and latency by API group, in slots of ${slot_text}. ${KEYS_TEXT}`,
    onpointermove: pointed,
    onpointerleave: hideTip,
    onkeydown: keyed,
    onfocus: viewChanged,
    onblur: left,
  });
  const labels = families.map((one) =>
    el(
      "div",
      { class: "label rate", title: `${one.title}: ${one.text}` },
      el("span", { class: "row-title" }, swatch(familyOf(one)), el("strong", {}, one.short_title)),
      el("span", { class: "what" }, one.text),
    ),
  );
  return el("div", { class: "rates" }, el("div", { class: "rate-labels" }, labels), RATES.canvas);
}

export function ratesTable() {
  const { families, slot_text } = STORY.request_rates;
  if (!families.length) return null;
  const made = details("Table of requests and latency by API group", false);
  made.id = "rates-table";
  const columns = [["API group"], ["Time"], ["Requests", "num"], ["Failed", "num"], ["Rate and latency"]];
  return filledWhenOpen(made, () => {
    const rows = families.flatMap((one) =>
      one.slots.map((slot) => [one.short_title, slot.when, grouped(slot.n), slot.n_failed || "", slot.text]),
    );
    const about = `By the time at which they were sent, in slots of ${slot_text}. `;
    return [
      hint(
        about,
        "p99 is of those that were answered; Fetch waits for records on purpose, JoinGroup for other members.",
      ),
      table("Requests and latency by API group", columns, rows),
    ];
  });
}

function left() {
  hideTip();
  viewChanged();
}

function familyOf(one: FamilyRates) {
  return STORY.families.findIndex((family) => family.name === one.family);
}

export function resizedRates() {
  if (RATES.canvas) RATES.context = sized(RATES.canvas, TIMELINE.width, ROW * STORY.request_rates.families.length);
}

export function drawRates() {
  if (!RATES.canvas) return;
  const { families } = STORY.request_rates;
  RATES.context.clearRect(0, 0, TIMELINE.width, ROW * families.length);
  for (const [n, one] of families.entries()) drawFamily(one, n * ROW);
  if (document.activeElement === RATES.canvas) drawChosen();
}

function drawFamily(one: FamilyRates, top: number) {
  const { context } = RATES;
  const family = familyOf(one);
  const base = top + ROW - 2;
  context.fillStyle = INK.line;
  context.fillRect(0, top + ROW - 1, TIMELINE.width, 1);
  for (const slot of one.slots) {
    const box = boxOf(slot, TIMELINE.width);
    if (!box) continue;
    const tall = heightOf(slot.per_second, one.most_per_second, ROW - LATENCY - 4);
    context.fillStyle = box.width > 5 ? INK.patterns[family] : INK.families[family];
    context.fillRect(box.x, base - tall, box.width, tall);
    drawLatency(slot, box, top + LATENCY + 1, one.most_p99_ms ?? 1);
    if (slot.n_failed) drawError(context, box.x + box.width / 2, top + 5, LATENCY - 4);
  }
}

function drawLatency(slot: RateSlot, box: { x: number; width: number }, base: number, mostMs: number) {
  if (slot.p99_ms === null) return;
  const tall = heightOf(slot.p99_ms, mostMs, LATENCY - 2);
  const { context } = RATES;
  context.fillStyle = INK.muted;
  context.globalAlpha = 0.4;
  context.fillRect(box.x, base - tall, box.width, tall);
  context.globalAlpha = 1;
  context.fillStyle = INK.ink;
  context.fillRect(box.x, base - tall, box.width, 1.5);
}

function drawChosen() {
  const box = boxOf(chosen(), TIMELINE.width);
  if (!box) return;
  RATES.context.strokeStyle = INK.accent;
  RATES.context.lineWidth = 2;
  RATES.context.strokeRect(box.x, RATES.row * ROW + 1, Math.max(3, box.width), ROW - 3);
}

function chosen(): RateSlot {
  const { slots } = STORY.request_rates.families[RATES.row];
  return slots[Math.min(RATES.slot, slots.length - 1)];
}

function linesOf(one: FamilyRates, slot: RateSlot) {
  return [one.title, slot.when, slot.text];
}

function pointed(event: PointerEvent) {
  const frame = RATES.canvas.getBoundingClientRect();
  const one = STORY.request_rates.families[Math.floor((event.clientY - frame.top) / ROW)];
  const at = VIEW.from + ((event.clientX - frame.left) / TIMELINE.width) * (VIEW.to - VIEW.from);
  const slot = one?.slots.find(({ from_ns, to_ns }) => from_ns <= at && at < to_ns);
  if (!slot) return hideTip();
  return showTip(linesOf(one, slot), event.clientX, event.clientY);
}

const STEPS: Record<string, [number, number]> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

// Moves to the next slot of the family, or to the slot of another family at the same time.
function keyed(event: KeyboardEvent) {
  const step = STEPS[event.key];
  if (!step) return;
  event.preventDefault();
  const { families } = STORY.request_rates;
  const at = chosen().from_ns;
  RATES.row = Math.max(0, Math.min(families.length - 1, RATES.row + step[0]));
  const { slots } = families[RATES.row];
  const same = slotAt(slots, at);
  RATES.slot = Math.max(0, Math.min(slots.length - 1, same + step[1]));
  const one = families[RATES.row];
  announce(linesOf(one, chosen()).join(", "));
  const frame = RATES.canvas.getBoundingClientRect();
  const x = Math.max(0, Math.min(TIMELINE.width, xOf(chosen().from_ns, TIMELINE.width)));
  showTip(linesOf(one, chosen()), frame.left + x, frame.top + (RATES.row + 1) * ROW - 12);
  viewChanged();
}
