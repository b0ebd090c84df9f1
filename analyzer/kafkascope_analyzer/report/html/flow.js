// Topics: latency from end to end and lag for each group that reads them, and the lag over the slices of time.

const MOST_FLOWS = 60;

function flowSection() {
  const { present, why_not, n, listed, slice_length } = STORY.flow;
  if (!present) return section("flow", "Topics", hint(why_not));
  if (!n) return section("flow", "Topics", el("p", {}, "No record was written or fetched in the capture."));
  const shown = listed.slice(0, MOST_FLOWS);
  return section(
    "flow",
    "Topics",
    hint(
      `Created to acked: from the create time in a batch, on the capture’s clock, to the response that accepted it. Acked to fetched: to the first response to any member of the group that brought the record. Lag: records by which the group was behind, all partitions together. Over time: slices of ${slice_length}.`,
    ),
    flowTable(shown),
    moreRows(STORY.flow, shown.length, "topic and reader"),
    el("ul", {}, shown.filter((one) => one.note).map((one) => el("li", {}, `${one.reader} on ${one.topic}: ${one.note}`))),
    shown.map(flowDetails),
  );
}

function flowTable(listed) {
  const columns = [["Topic"], ["Read by"], ["Records", "num"], ["Created to acked p50", "num"], ["p99", "num"],
    ["Acked to fetched p50", "num"], ["p99", "num"], ["Lag at most", "num"], ["At the end", "num"], ["Lag over time"]];
  const rows = listed.map((one) => [one.topic, one.reader, grouped(one.n_records), span(one.created_to_acked_p50_us),
    span(one.created_to_acked_p99_us), span(one.acked_to_fetched_p50_us), span(one.acked_to_fetched_p99_us),
    groupedOrNone(one.lag_max), groupedOrNone(one.lag_last), lagBars(one)]);
  return table("Latency from end to end, and lag", columns, rows);
}

function groupedOrNone(n) {
  return n === null ? "" : grouped(n);
}

// A bar for each slice, as high as the lag at its end; the table of slices says the same.
function lagBars(one) {
  if (!one.lag_max) return null;
  const x = (ns) => (Math.max(ns, 0) / END) * 196 + 2;
  const width = Math.max(1, ((STORY.flow.slice_ms * 1e6) / END) * 196 - 0.5);
  const bars = one.over_time.filter((slice) => slice.lag).map((slice) => {
    const height = Math.max(1, (slice.lag / one.lag_max) * 14);
    return svg("rect", { class: "box", x: x(slice.ts_ns), y: 16 - height, width, height });
  });
  return svg("svg", { class: "latency", viewBox: "0 0 200 16", width: 200, height: 16, "aria-hidden": "true" }, bars);
}

function flowDetails(one) {
  return details(`${one.topic}, read by ${one.reader}: partitions and slices`, false, flowPartitions(one), flowSlices(one));
}

function flowPartitions(one) {
  const columns = [["Partition"], ["Leader"], ["Records", "num"], ["Fetched", "num"], ["Created to acked p99", "num"],
    ["Acked to fetched p99", "num"], ["Lag at most", "num"], ["At", "num"], ["At the end", "num"]];
  const rows = one.partitions.map((part) => [part.partition, nodeName(part.leader_id), grouped(part.n_records),
    grouped(part.n_fetched), span(part.created_to_acked_p99_us), span(part.acked_to_fetched_p99_us),
    groupedOrNone(part.lag_max), part.lag_max_at ?? "", groupedOrNone(part.lag_last)]);
  const left = one.n_partitions - one.partitions.length;
  return [table(`Partitions of ${one.topic}`, columns, rows), left > 0 ? hint(`… and ${count(left, "partition")} more (table partition_flow).`) : null];
}

function flowSlices(one) {
  const columns = [["From"], ["Records", "num"], ["Fetched", "num"], ["Created to acked p99", "num"],
    ["Acked to fetched p99", "num"], ["Lag", "num"]];
  const rows = one.over_time.map((slice) => [slice.at, grouped(slice.n_records), grouped(slice.n_fetched),
    span(slice.created_to_acked_p99_us), span(slice.acked_to_fetched_p99_us), groupedOrNone(slice.lag)]);
  return table(`${one.topic} over time`, columns, rows);
}
