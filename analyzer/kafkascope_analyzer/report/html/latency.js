// Latency by API and broker: median, 90th and 99th percentile and maximum, on one logarithmic scale.

const MOST_LATENCIES = 60;

function latencySection() {
  const listed = STORY.latencies.slice(0, MOST_LATENCIES);
  if (!listed.length) return section("latency", "Latency", hint("No answered request is in the capture."));
  const columns = [["API"], ["Broker"], ["Answers", "num"], ["p50", "num"], ["p90", "num"], ["p99", "num"], ["Slowest", "num"], ["p50 ━ p99 ┄ slowest, logarithmic"]];
  const rows = listed.map((one) => [one.api, nodeName(one.node_id), grouped(one.n), span(one.p50_us), span(one.p90_us), span(one.p99_us), span(one.max_us), latencyBar(one)]);
  const more = STORY.latencies.length > listed.length ? hint(`… and ${STORY.latencies.length - listed.length} rarer pairs.`) : null;
  return section("latency", "Latency by API and broker", hint("From the last byte of the request to the first byte of the answer, as the capture saw them, over all requests. Fetch waits for records on purpose, JoinGroup for the other members."), table("Latency by API and broker", columns, rows), more);
}

function latencyBar(one) {
  const most = STORY.latencies.reduce((a, b) => Math.max(a, b.max_us ?? 0), 10);
  const x = (us) => (Math.log10(Math.max(1, us)) / Math.log10(most)) * 196 + 2;
  return svg("svg", { class: "latency", viewBox: "0 0 200 14", width: 200, height: 14, "aria-hidden": "true" },
    svg("line", { class: "whisker", x1: x(one.p99_us), x2: x(one.max_us), y1: 7, y2: 7 }), svg("rect", { class: "box", x: x(one.p50_us), y: 3, width: Math.max(1, x(one.p99_us) - x(one.p50_us)), height: 8 }),
    svg("line", { class: "median", x1: x(one.p50_us), x2: x(one.p50_us), y1: 1, y2: 13 }));
}
