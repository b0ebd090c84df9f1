// p50 and p99 of each broker over the capture, one below the other on one scale; the table has the same.

import { END, STORY } from "../facts/data.ts";
import { clock, count, grouped, nodeName, span } from "../facts/figures.ts";
import type { BrokerOverTime } from "../facts/story.d.ts";
import { type Frame, pathOf, scaleOf, ticksOf, xOf, yOf } from "../layout/latency_lines.ts";
import { details, hint, picture, svg } from "./dom.ts";
import { table } from "./table.ts";

const WIDTH = 1000;
const LEFT = 70;
const TOP = 22;
const ROW = 120;
const HEIGHT = 84;

export function latencyLines() {
  const { listed, n, slot_text } = STORY.latency_over_time;
  if (!listed.length) return null;
  const [least, most] = scaleOf(listed.flatMap((one) => one.slots));
  const frame = (row: number): Frame => ({
    width: WIDTH - LEFT - 10,
    height: HEIGHT,
    left: LEFT,
    top: TOP + row * ROW,
    end: END,
    least,
    most,
  });
  const size = {
    width: WIDTH,
    height: TOP + listed.length * ROW,
    name: "p50 and p99 of each broker over the capture; the table below says the same",
  };
  return [
    hint(
      `How fast each broker answered clients: p50 (thick line) and p99 (thin, dashed), logarithmic, in slots of ${slot_text}, by when requests were sent; without requests that are meant to wait.`,
    ),
    picture("latency-lines", size, ...listed.map((one, row) => lines(one, frame(row)))),
    n > listed.length ? hint(`… and ${count(n - listed.length, "broker")} more, with fewer requests.`) : null,
    details("Latency over time as a table", false, slotsTable(listed)),
  ];
}

function lines({ node_id, slots }: BrokerOverTime, frame: Frame) {
  const right = frame.left + frame.width;
  const foot = frame.top + frame.height;
  return svg(
    "g",
    {},
    svg("text", { class: "strong", x: frame.left, y: frame.top - 6 }, nodeName(node_id)),
    ticksOf(frame).flatMap((us) => [
      svg("line", { class: "grid", x1: frame.left, x2: right, y1: yOf(us, frame), y2: yOf(us, frame) }),
      svg("text", { class: "small", x: frame.left - 6, y: yOf(us, frame) + 3, "text-anchor": "end" }, span(us)),
    ]),
    [0, 0.5, 1].map((share) =>
      svg(
        "text",
        {
          class: "small",
          x: xOf(share * frame.end, frame),
          y: foot + 12,
          "text-anchor": { 0: "start", 0.5: "middle", 1: "end" }[share],
        },
        clock(share * frame.end),
      ),
    ),
    svg("path", { class: "p99", d: pathOf(slots, (slot) => slot.p99_us, frame) }),
    svg("path", { class: "p50", d: pathOf(slots, (slot) => slot.p50_us, frame) }),
  );
}

function slotsTable(listed: BrokerOverTime[]) {
  const columns = [["Broker"], ["When"], ["Requests", "num"], ["p50", "num"], ["p99", "num"]];
  const rows = listed.flatMap((one) =>
    one.slots.map((slot) => [nodeName(one.node_id), slot.when, grouped(slot.n), span(slot.p50_us), span(slot.p99_us)]),
  );
  return table("Latency of each broker over time", columns, rows);
}
