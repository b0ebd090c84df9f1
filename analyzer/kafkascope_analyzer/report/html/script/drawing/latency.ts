// Latency by API and broker on one logarithmic scale; then who moved how much, and who still speaks old versions.

import { STORY } from "../facts/data.ts";
import { bytes, clock, count, grouped, nodeName, span } from "../facts/figures.ts";
import type { LatencyPair } from "../facts/story.d.ts";
import { hint, section, svg } from "./dom.ts";
import { latencyLines } from "./latency_lines.ts";
import { table } from "./table.ts";

const MOST_LATENCIES = 60;

export function latencySection() {
  return section(
    "latency",
    "Latency and load",
    latencyLines(),
    latencyTable(),
    leadersTable(),
    trafficTables(),
    oldVersionsTable(),
  );
}

function moreRows(part: { n: number }, shown: number, one: string) {
  return part.n > shown ? hint(`… and ${count(part.n - shown, one)} more (report.json).`) : null;
}

function latencyTable() {
  const listed = STORY.latency.listed.slice(0, MOST_LATENCIES);
  if (!listed.length) return hint("No answered request is in the capture.");
  const columns = [
    ["API"],
    ["Broker"],
    ["Answers", "num"],
    ["p50", "num"],
    ["p99", "num"],
    ["Slowest", "num"],
    ["Queued p50", "num"],
    ["Queued p99", "num"],
    ["Network p50", "num"],
    ["Network p99", "num"],
    ["p50 ━ p99 ┄ slowest, logarithmic"],
  ];
  const rows = listed.map((one) => [
    one.api_name,
    one.node_id === null ? (one.address ?? "") : nodeName(one.node_id),
    grouped(one.n),
    span(one.broker_p50_us),
    span(one.broker_p99_us),
    span(one.max_us),
    span(one.queued_p50_us),
    span(one.queued_p99_us),
    span(one.network_p50_us),
    span(one.network_p99_us),
    latencyBar(one),
  ]);
  return [
    hint(
      "From the last byte of the request to the first byte of the answer, as the capture saw them; queued, which is not in it, is the wait for the answer before it on the connection; network is the bytes’ own time on the way. Fetch waits for records on purpose, JoinGroup for the other members.",
    ),
    table("Latency by API and broker", columns, rows),
    moreRows(STORY.latency, listed.length, "pair"),
  ];
}

function latencyBar(one: LatencyPair) {
  const most = STORY.latency.listed.reduce((a, b) => Math.max(a, b.max_us ?? 0), 10);
  const x = (us: number | null) => (Math.log10(Math.max(1, us ?? 0)) / Math.log10(most)) * 196 + 2;
  const [half, late] = [x(one.broker_p50_us), x(one.broker_p99_us)];
  return svg(
    "svg",
    { class: "latency", viewBox: "0 0 200 14", width: 200, height: 14, "aria-hidden": "true" },
    svg("line", { class: "whisker", x1: late, x2: x(one.max_us), y1: 7, y2: 7 }),
    svg("rect", { class: "box", x: half, y: 3, width: Math.max(1, late - half), height: 8 }),
    svg("line", { class: "median", x1: half, x2: half, y1: 1, y2: 13 }),
  );
}

function leadersTable() {
  const { listed, skew } = STORY.leaders;
  if (!listed.length) return null;
  const columns = [
    ["Leader"],
    ["Partitions", "num"],
    ["Produce", "num"],
    ["Written", "num"],
    ["Fetch", "num"],
    ["Read", "num"],
  ];
  const rows = listed.map((one) => [
    nodeName(one.node_id),
    one.n_partitions,
    grouped(one.n_produce),
    bytes(one.produce_bytes),
    grouped(one.n_fetch),
    bytes(one.fetch_bytes),
  ]);
  return [
    table("What clients wrote to and read from each leader", columns, rows),
    skew ? hint(`The busiest has ${skew.toFixed(2)} times an even share.`) : null,
  ];
}

// Clients that write and clients that read, a table each: next to nobody does both.
function trafficTables() {
  const listed = STORY.client_traffic.listed.slice(0, MOST_LATENCIES);
  const written = listed.flatMap(({ client_id, client_ip, produce: sent }) =>
    sent
      ? [
          [
            client_id ?? "",
            client_ip ?? "",
            grouped(sent.n),
            grouped(sent.n_records),
            sent.records_a_request ?? "",
            sent.bytes_a_batch ?? "",
            Object.keys(sent.acks)
              .map((acks) => (acks === "-1" ? "all" : acks))
              .join(", "),
            Object.keys(sent.codecs).join(", "),
          ],
        ]
      : [],
  );
  const read = listed.flatMap(({ client_id, client_ip, fetch: got }) =>
    got
      ? [
          [
            client_id ?? "",
            client_ip ?? "",
            grouped(got.n),
            grouped(got.n_records),
            got.records_a_request ?? "",
            grouped(got.n_empty),
            got.max_wait_ms === null ? "" : span(got.max_wait_ms * 1000),
          ],
        ]
      : [],
  );
  const common = [["Client"], ["Address"], ["Requests", "num"], ["Records", "num"], ["Records a request", "num"]];
  const columns = [...common, ["Bytes a batch", "num"], ["Acks"], ["Compression"]];
  return [
    written.length ? table("What each producer wrote", columns, written) : null,
    read.length ? table("What each consumer read", [...common, ["Empty", "num"], ["Longest wait", "num"]], read) : null,
    moreRows(STORY.client_traffic, listed.length, "client"),
  ];
}

function oldVersionsTable() {
  const listed = STORY.removed_versions.listed.slice(0, MOST_LATENCIES);
  if (!listed.length) return null;
  const columns = [
    ["Client"],
    ["Address"],
    ["Software"],
    ["API"],
    ["Version", "num"],
    ["Kafka 4.0 begins at", "num"],
    ["Requests", "num"],
    ["First", "num"],
  ];
  const rows = listed.map((one) => [
    one.client_id ?? "",
    one.client_ip ?? "",
    [one.software_name, one.software_version].filter(Boolean).join(" "),
    one.api_name,
    one.api_version,
    one.lowest_in_4_0 ?? "gone",
    grouped(one.n),
    clock(one.first_ns),
  ]);
  return [
    table("Versions that Kafka 4.0 removed (KIP-896)", columns, rows),
    moreRows(STORY.removed_versions, listed.length, "use"),
  ];
}
