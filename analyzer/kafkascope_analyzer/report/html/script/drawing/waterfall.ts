// A start as a waterfall: a line a step, bars on one scale of time, the critical path marked; beside it the expected
// steps.

import { span, words } from "../facts/figures.ts";
import type { Start } from "../facts/story.d.ts";
import { type DrawnStep, placeOf, type Scale, WATERFALL_STEP, waterfallScale } from "../layout/waterfall.ts";
import { details, el, hint, picture, svg } from "./dom.ts";
import { packetLinks } from "./evidence.ts";
import { outcome } from "./signs.ts";
import { table } from "./table.ts";

export function startBlock(start: Start) {
  const steps = start.steps.filter((step) => step.start_ns !== null) as DrawnStep[];
  return el(
    "div",
    { class: "start-block" },
    el("h4", {}, `${start.heading}: `, outcome(start.outcome, start.ended)),
    start.slowest_text ? el("p", {}, `Where the time went: ${start.slowest_text}.`) : null,
    steps.length
      ? el("div", { class: "beside" }, waterfall(start, steps), expected(start))
      : hint("Its steps are in table stories/startup_steps."),
    steps.length ? details("Table of the steps", false, stepsTable(start, steps)) : null,
  );
}

function waterfall(start: Start, steps: DrawnStep[]) {
  const scale = waterfallScale(start, steps);
  const height = steps.length * WATERFALL_STEP + 34;
  const lines = steps.map((step, n) => waterfallStep(step, n, scale));
  const marks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const x = 250 + share * 640;
    const anchor = share === 0 ? "start" : share === 1 ? "end" : "middle";
    return [
      svg("line", { class: "grid", x1: x, x2: x, y1: 18, y2: height - 10 }),
      svg("text", { x, y: 12, "text-anchor": anchor }, `+${span(((scale.to - scale.from) * share) / 1000)}`),
    ];
  });
  const name = `Waterfall of the start, ${steps.length} steps; the table below says the same`;
  const key = "◆ critical path   ┄ client waits   █ broker   ▭ network   pale: beside the critical path";
  return picture(
    "waterfall",
    { width: 960, height, name },
    marks,
    lines,
    svg("text", { class: "legend-text", x: 250, y: height - 1 }, key),
  );
}

function waterfallStep(step: DrawnStep, n: number, scale: Scale) {
  const { y, start, end, split, waited } = placeOf(step, n, scale);
  const critical = step.on_critical_path;
  const name = `${critical ? "◆ " : ""}${words(step.step)}${(step.attempt ?? 1) > 1 ? ` #${step.attempt}` : ""}`;
  const node = step.node_id === null ? "" : `${step.node_id}`;
  const wide = (from: number, to: number) => Math.max(0.5, to - from);
  const took = `${span(step.duration_us)}${step.outcome === "ok" ? "" : ` ${step.error_name || words(step.outcome)}`}`;
  const late = end > 780;
  return svg(
    "g",
    { class: critical ? "critical" : "beside-path" },
    svg("text", { class: "name", x: 222, y: y + 11, "text-anchor": "end" }, name),
    svg("text", { class: "node", x: 243, y: y + 11, "text-anchor": "end" }, node),
    critical && step.wait_us
      ? svg("rect", { class: "wait", x: waited, y: y + 5, width: wide(waited, start), height: 4 })
      : null,
    svg("rect", { class: "network", x: start, y: y + 2, width: wide(start, end), height: 10 }),
    step.broker_us ? svg("rect", { class: "broker", x: split, y: y + 2, width: wide(split, end), height: 10 }) : null,
    step.outcome === "ok"
      ? null
      : svg("path", { class: "stroke-error", d: `M ${end - 4} ${y + 3} l 8 8 m -8 0 l 8 -8` }),
    svg(
      "text",
      {
        class: step.outcome === "ok" ? "took" : "took bad",
        x: late ? waited - 6 : end + 7,
        y: y + 11,
        "text-anchor": late ? "end" : "start",
      },
      took,
    ),
  );
}

// The steps that such a client cannot do without, and what this start did differently.
function expected(start: Start) {
  const missing = new Set<string | null>(start.missing_steps || []);
  const done = new Set<string | null>(start.steps.map((step) => step.step));
  const steps = (start.expected_steps || []).map((step) =>
    el(
      "li",
      {},
      outcome(
        missing.has(step) ? "failed" : done.has(step) ? "ready" : "cut",
        words(step) + (missing.has(step) ? " (missing)" : ""),
      ),
    ),
  );
  const { extra_steps, repeated_steps, out_of_order_steps } = start;
  const odd = [
    ["extra", extra_steps],
    ["repeated", repeated_steps],
    ["out of order", out_of_order_steps],
  ] as const;
  const differ = odd.map(([what, steps]) =>
    steps?.length ? el("p", {}, el("strong", {}, `${what}: `), steps.map(words).join(", ")) : null,
  );
  return el(
    "div",
    { class: "expected" },
    el("h5", {}, `Expected of ${start.expected_sequence || "such a client"}`),
    steps.length ? el("ol", {}, steps) : null,
    differ,
  );
}

function stepsTable(start: Start, steps: DrawnStep[]) {
  const columns = [
    ["Step"],
    ["From", "num"],
    ["Took", "num"],
    ["Broker", "num"],
    ["Waited before", "num"],
    ["Node"],
    ["About"],
    ["Outcome"],
    ["Critical"],
    ["Packets", "num"],
  ];
  const rows = steps.map((step) => [
    words(step.step) + ((step.attempt ?? 1) > 1 ? ` #${step.attempt}` : ""),
    `+${span((step.start_ns - (start.start_ns ?? 0)) / 1000)}`,
    span(step.duration_us),
    span(step.broker_us),
    span(step.wait_us),
    step.node_id ?? "",
    step.subject ?? "",
    step.outcome === "ok" ? outcome("ready", "ok") : outcome("failed", step.error_name || words(step.outcome)),
    step.on_critical_path ? "◆ yes" : "",
    packetLinks(step.request_ids),
  ]);
  return table("Steps of the start", columns, rows);
}
