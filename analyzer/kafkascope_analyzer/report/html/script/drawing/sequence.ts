// A recovery as a sequence diagram: the client and the brokers side by side, a line a step, times at the left. The
// distance between lines says how long it took, but not to scale: 1 ms and 1 s have to be seen on one page.

import { cutCommand } from "../facts/commands.ts";
import { packetsOfEnd } from "../facts/connections.ts";
import { connectionPlace, END } from "../facts/data.ts";
import { nodeName } from "../facts/figures.ts";
import type { Recovery, RecoveryStep } from "../facts/story.d.ts";
import { type Lifelines, lifelines, placedSteps } from "../layout/sequence.ts";
import { button, command, details, el, hint, picture, svg } from "./dom.ts";
import { packetLinks } from "./evidence.ts";
import { showAt } from "./reveal.ts";
import { outcome } from "./signs.ts";
import { table } from "./table.ts";

export function episodeBlock(episode: Recovery) {
  const start = episode.start_ns ?? 0;
  const head = el(
    "h4",
    { id: `episode-${episode.recovery_id}`, tabindex: "-1" },
    `${episode.heading}: `,
    outcome(episode.outcome, episode.ended),
  );
  const steps = episode.steps.filter((step) => step.ts_ns !== null);
  return el(
    "div",
    { class: "episode" },
    head,
    el("p", {}, episode.sentences.join(" ")),
    steps.length ? sequence(episode, steps) : hint("Its steps are in table stories/recovery_steps."),
    steps.length ? details("Table of the steps", false, episodeTable(steps)) : null,
    el(
      "p",
      { class: "row" },
      button("Show in timeline", () => showAt("timeline", start, episode.recovered_ns ?? END), { class: "small" }),
      command(cutCommand("--recovery", episode.recovery_id ?? "", episode.recovery_id ?? "")),
    ),
  );
}

function sequence(episode: Recovery, steps: RecoveryStep[]) {
  const lines = lifelines(episode, steps);
  const { placed, height } = placedSteps(episode, steps);
  const drawn = placed.map(({ step, n, y }) => sequenceStep(episode, step, { n, y, lines }));
  const heads = [
    ["client", lines.client] as [string, number],
    ...lines.nodes.map((node): [string, number] => [nodeName(node), lines.x(node)]),
  ].map(([name, x]) =>
    svg(
      "g",
      {},
      svg("line", { class: "lifeline", x1: x, x2: x, y1: 32, y2: height - 8 }),
      svg("rect", { class: "head", x: x - 48, y: 8, width: 96, height: 24, rx: 4 }),
      svg("text", { class: "head-text", x, y: 24, "text-anchor": "middle" }, name),
    ),
  );
  const name = `Sequence diagram of the recovery, ${placed.length} lines; the table below says the same`;
  return picture("sequence", { width: 960, height, name }, heads, drawn);
}

function sequenceStep(
  episode: Recovery,
  step: RecoveryStep,
  { n, y, lines }: { n: number; y: number; lines: Lifelines },
) {
  const text = step.text + (n > 1 ? ` × ${n}` : "");
  const at = svg("text", { class: "at", x: 100, y: y + 4, "text-anchor": "end" }, step.at);
  if (step.step === "backoff") {
    return svg(
      "g",
      {},
      at,
      svg("rect", { class: "pause", x: lines.client - 6, y: y - 8, width: 12, height: 16 }),
      svg("text", { x: lines.client + 14, y: y + 4 }, `${text} ${step.took}`),
    );
  }
  const x = lines.x(step.step === "hint" ? (episode.old_node_id ?? step.node_id) : step.node_id);
  const inward = ["error", "success", "hint"].includes(step.step ?? "");
  const [from, to] = inward ? [x, lines.client] : [lines.client, x];
  const way = to > from ? 1 : -1;
  const tone = step.step === "error" ? "bad" : step.step === "success" ? "good" : "";
  const mark =
    step.step === "error"
      ? svg("path", { class: "stroke-error", d: `M ${x - 5} ${y - 5} l 10 10 m -10 0 l 10 -10` })
      : null;
  const took = step.duration_us !== null && !inward ? ` (${step.took})` : "";
  return svg(
    "g",
    { class: tone },
    at,
    svg("line", { class: `arrow ${step.step === "error" ? "dashed" : ""}`, x1: from, x2: to - way * 7, y1: y, y2: y }),
    svg("path", { class: "point", d: `M ${to} ${y} l ${-way * 9} -4.5 v 9 z` }),
    mark,
    svg("text", { class: "said", x: lines.client + 14, y: y - 5 }, text + took),
  );
}

function episodeTable(steps: RecoveryStep[]) {
  const columns = [["Step"], ["After", "num"], ["Took", "num"], ["Broker"], ["Error"], ["Packets", "num"]];
  const rows = steps.map((step) => [
    step.text,
    step.at,
    step.took,
    step.node_id === null ? "" : nodeName(step.node_id),
    step.error_name ?? "",
    step.request_id ? packetLinks([step.request_id]) : packetsOfEnd(connectionPlace(step.conn_id ?? "")),
  ]);
  return table("Steps of the recovery", columns, rows);
}
