// A recovery as a sequence diagram: the client and the brokers side by side, a line a step, times at the left. The
// distance between lines says how long it took, but not to scale: 1 ms and 1 s have to be seen on one page.

const SEQUENCE_LINE = 24;

const STEP_TEXT = {
  error: (step) => step.error_name || "error",
  backoff: () => "client pauses",
  hint: (step) => `answer names the leader: node ${step.node_id} (KIP-951)`,
  metadata: () => "Metadata",
  find_coordinator: () => "FindCoordinator",
  reconnect: () => "connects",
  api_versions: () => "ApiVersions",
  authenticate: () => "authenticates",
  success: () => "works again",
};

function episodeBlock(episode) {
  const took = episode.recovered_ns === null
    ? ""
    : ` after ${span((episode.recovered_ns - episode.start_ns) / 1000)}`;
  const head = el(
    "h4",
    { id: `episode-${episode.recovery_id}`, tabindex: "-1" },
    `${clock(episode.start_ns)} ${episode.first_error_name} on ${episode.resource ?? "?"}: `,
    outcome(episode.outcome, episode.outcome_text + took),
  );
  const steps = episode.steps.filter((step) => step.ts_ns !== null);
  return el(
    "div",
    { class: "episode" },
    head,
    episodeFacts(episode),
    steps.length ? sequence(episode, steps) : hint("Its steps are in table stories/recovery_steps."),
    steps.length ? details("Table of the steps", false, episodeTable(episode, steps)) : null,
    el(
      "p",
      { class: "row" },
      button(
        "Show in timeline",
        () => { showStretch(episode.start_ns, episode.recovered_ns ?? END); jump("timeline"); },
        { class: "small" },
      ),
      command(cutCommand("--recovery", episode.recovery_id, episode.recovery_id)),
    ),
  );
}

function episodeFacts(episode) {
  const lost = [
    ["lost_broker_us", "brokers"],
    ["lost_backoff_us", "the client’s back-off"],
    ["lost_stale_us", "stale metadata"],
    ["lost_connecting_us", "connecting"],
  ] .map(([name, who]) => [episode[name] || 0, who]).filter(([us]) => us > 0).sort((a, b) => b[0] - a[0]);
  const moved = episode.new_node_id !== null
    && episode.old_node_id !== null
    && episode.new_node_id !== episode.old_node_id
    ? ` From node ${episode.old_node_id} to node ${episode.new_node_id}.`
    : "";
  return el(
    "p",
    {},
    `Expected: ${episode.expected_reaction || "nothing known"}. `,
    episode.wrong_why ? outcome("wrong_reaction", `It did otherwise: ${words(episode.wrong_why)}. `) : "",
    `${count(episode.n_errors ?? 0, "error")}, ${count(episode.n_wasted_requests ?? 0, "wasted request")}.${moved}`,
    lost.length ? ` The time went to ${lost.map(([us, who]) => `${who} (${span(us)})`).join(", ")}.` : "",
  );
}

// Lifelines: the client, then the brokers in order of node id, those without one last.
function lifelines(episode, steps) {
  const old = steps.some((step) => step.step === "hint") && episode.old_node_id !== null ? [episode.old_node_id] : [];
  const nodes = [...new Set([...old, ...steps.map(nodeOf)])].sort((a, b) => (a === null) - (b === null) || a - b);
  const apart = Math.min(230, 560 / Math.max(1, nodes.length));
  return { nodes, x: (node) => 330 + (nodes.indexOf(node) + 0.6) * apart, client: 170 };
}

function nodeOf(step) {
  if (step.node_id !== null) return step.node_id;
  const conn = STORY.lanes.connections[connectionPlace(step.conn_id ?? "")];
  return conn?.node_id ?? null;
}

// Several of the same in a row are one line that says how many.
function mergedSteps(steps) {
  const made = [];
  for (const step of steps) {
    const last = made.at(-1);
    const same = last
      && last.step.step === step.step
      && nodeOf(last.step) === nodeOf(step)
      && last.step.error_name === step.error_name;
    if (same) last.n += 1;
    else made.push({ step, n: 1 });
  }
  return made;
}

function sequence(episode, steps) {
  const lines = lifelines(episode, steps);
  const merged = mergedSteps(steps);
  let y = 46;
  let before = episode.start_ns;
  const drawn = merged.map(({ step, n }) => {
    y += SEQUENCE_LINE + Math.min(26, Math.max(0, Math.log10(Math.max(1, (step.ts_ns - before) / 1e5)) * 5));
    before = step.ts_ns;
    return sequenceStep(episode, step, { n, y, lines });
  });
  const height = y + 24;
  const heads = [
    ["client", lines.client],
    ...lines.nodes.map((node) => [nodeName(node), lines.x(node)]),
  ].map(([name, x]) => svg(
    "g",
    {},
    svg("line", { class: "lifeline", x1: x, x2: x, y1: 32, y2: height - 8 }),
    svg("rect", { class: "head", x: x - 48, y: 8, width: 96, height: 24, rx: 4 }),
    svg("text", { class: "head-text", x, y: 24, "text-anchor": "middle" }, name),
  ));
  const name = `Sequence diagram of the recovery, ${merged.length} lines; the table below says the same`;
  return picture("sequence", { width: 960, height, name }, heads, drawn);
}

function sequenceStep(episode, step, { n, y, lines }) {
  const text = stepText(step) + (n > 1 ? ` × ${n}` : "");
  const at = svg(
    "text",
    { class: "at", x: 100, y: y + 4, "text-anchor": "end" },
    `+${span((step.ts_ns - episode.start_ns) / 1000)}`,
  );
  if (step.step === "backoff") {
    return svg(
      "g",
      {},
      at,
      svg("rect", { class: "pause", x: lines.client - 6, y: y - 8, width: 12, height: 16 }),
      svg("text", { x: lines.client + 14, y: y + 4 }, `${text} ${span(step.duration_us)}`),
    );
  }
  const x = lines.x(step.step === "hint" ? episode.old_node_id ?? nodeOf(step) : nodeOf(step));
  const inward = ["error", "success", "hint"].includes(step.step);
  const [from, to] = inward ? [x, lines.client] : [lines.client, x];
  const way = to > from ? 1 : -1;
  const tone = step.step === "error" ? "bad" : step.step === "success" ? "good" : "";
  const mark = step.step === "error" ? svg(
    "path",
    { class: "stroke-error", d: `M ${x - 5} ${y - 5} l 10 10 m -10 0 l 10 -10` },
  ) : null;
  const took = step.duration_us !== null && !inward ? ` (${span(step.duration_us)})` : "";
  return svg(
    "g",
    { class: tone },
    at,
    svg(
      "line",
      { class: `arrow ${step.step === "error" ? "dashed" : ""}`, x1: from, x2: to - way * 7, y1: y, y2: y },
    ),
    svg("path", { class: "point", d: `M ${to} ${y} l ${-way * 9} -4.5 v 9 z` }),
    mark,
    svg("text", { class: "said", x: lines.client + 14, y: y - 5 }, text + took),
  );
}

function stepText(step) {
  const api = STORY.evidence[step.request_id]?.api_name;
  const told = STEP_TEXT[step.step];
  if (step.step === "retry") return `tries again${api ? `: ${api}` : ""}`;
  if (!told) return api || words(step.step);
  return told(step) + (api && ["error", "success"].includes(step.step) ? ` (${api})` : "");
}

function episodeTable(episode, steps) {
  const columns = [["Step"], ["After", "num"], ["Took", "num"], ["Broker"], ["Error"], ["Packets", "num"]];
  const rows = steps.map((step) => [
    stepText(step),
    `+${span((step.ts_ns - episode.start_ns) / 1000)}`,
    span(step.duration_us),
    nodeOf(step) === null ? "" : nodeName(nodeOf(step)),
    step.error_name ?? "",
    step.request_id ? packetLinks([step.request_id]) : packetsOfEnd(connectionPlace(step.conn_id ?? "")),
  ]);
  return table("Steps of the recovery", columns, rows);
}
