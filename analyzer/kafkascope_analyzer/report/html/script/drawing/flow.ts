// Topics: latency from end to end and lag for each group that reads them, and the lag over the slices of time.

import { END, STORY } from "../facts/data.ts";
import type { TopicFlow } from "../facts/story.d.ts";
import { details, el, hint, section, svg } from "./dom.ts";
import { table } from "./table.ts";

const TOPIC_COLUMNS = [
  ["Topic"],
  ["Read by"],
  ["Records", "num"],
  ["Created to acked p50", "num"],
  ["p99", "num"],
  ["Acked to fetched p50", "num"],
  ["p99", "num"],
  ["Lag at most", "num"],
  ["At the end", "num"],
  ["Commit lag at most", "num"],
  ["At the end", "num"],
  ["Lag over time"],
];
const PARTITION_COLUMNS = [
  ["Partition"],
  ["Leader"],
  ["Records", "num"],
  ["Fetched", "num"],
  ["Created to acked p99", "num"],
  ["Acked to fetched p99", "num"],
  ["Lag at most", "num"],
  ["At", "num"],
  ["At the end", "num"],
  ["Commit lag at most", "num"],
  ["At the end", "num"],
];
const SLICE_COLUMNS = [
  ["From"],
  ["Records", "num"],
  ["Fetched", "num"],
  ["Created to acked p99", "num"],
  ["Acked to fetched p99", "num"],
  ["Lag", "num"],
  ["Commit lag", "num"],
];

export function flowSection() {
  const { present, why_not, n, listed, slice_length, more } = STORY.flow;
  if (!present) return section("flow", "Topics", hint(why_not));
  if (!n) return section("flow", "Topics", el("p", {}, "No record was written or fetched in the capture."));
  return section(
    "flow",
    "Topics",
    hint(
      `Created to acked: from the create time in a batch, on the capture’s clock, to the response that accepted it. Acked to fetched: to the first response to any member of the group that brought the record. Lag: records that the group had not fetched yet, all partitions together. Commit lag: records that it had not committed yet, as kafka-consumer-groups.sh counts them; it includes those that wait in the consumer. Over time: slices of ${slice_length}.`,
    ),
    table(
      "Latency from end to end, and lag",
      TOPIC_COLUMNS,
      listed.map((one) => [one.topic, one.reader, ...one.figures, lagBars(one)]),
    ),
    more ? hint(more) : null,
    el(
      "ul",
      {},
      listed.filter((one) => one.sentence).map((one) => el("li", {}, one.sentence)),
    ),
    listed.map(flowDetails),
  );
}

// A bar for each slice, as high as the lag at its end; the table of slices says the same.
function lagBars({ lags }: TopicFlow) {
  if (!lags.length) return null;
  const x = (ns: number) => (Math.max(ns, 0) / END) * 196 + 2;
  const bars = lags.map(({ from_ns, to_ns, share }) => {
    const height = Math.max(1, share * 14);
    const width = Math.max(1, ((to_ns - from_ns) / END) * 196 - 0.5);
    return svg("rect", { class: "box", x: x(from_ns), y: 16 - height, width, height });
  });
  return svg("svg", { class: "latency", viewBox: "0 0 200 16", width: 200, height: 16, "aria-hidden": "true" }, bars);
}

function flowDetails(one: TopicFlow) {
  return details(
    one.heading,
    false,
    table(`Partitions of ${one.topic}`, PARTITION_COLUMNS, one.partitions),
    one.more_partitions ? hint(one.more_partitions) : null,
    table(`${one.topic} over time`, SLICE_COLUMNS, one.slices),
  );
}
