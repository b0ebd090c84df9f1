// One request in words: the lines of the tooltip, and the fields of the panel.

import { apiText, type Named, NO_TIME, namedBy, packetsOf, REQ, requestId, STATUSES, STORY } from "./data.ts";
import { bytes, clock, count, grouped, listOf, nodeName, span, wallClock, words } from "./figures.ts";

export function requestLines(i: number) {
  const lines = [`${apiText(i)} · ${requestOutcome(i)}`, `${clock(REQ.start[i], 6)} · ${tookText(i)}`];
  const conn = STORY.lanes.connections[REQ.conn[i]];
  lines.push(`${STORY.lanes.clients[conn.client].name} → ${nodeName(conn.node_id)} (${conn.to})`);
  const named = namedBy(i).map(partitionText);
  if (named.length) lines.push(listOf(named, 3));
  const about = [STORY.requests.groups[REQ.group[i]], STORY.requests.transactional_ids[REQ.transaction[i]]].filter(
    Boolean,
  );
  if (about.length) lines.push(about.join(" · "));
  const others = REQ.weight[i] > 1 ? ` · stands for ${grouped(REQ.weight[i])}` : "";
  lines.push(`packets ${packetsOf(i).join(" and ")}${others}`);
  return lines;
}

export function partitionText(named: Named) {
  const where = named.partition >= 0 ? `${named.topic || "?"}-${named.partition}` : named.topic || "?";
  return where + (named.offset >= 0 ? ` @ ${grouped(named.offset)}` : "") + (named.error ? ` ${named.error}` : "");
}

export function requestOutcome(i: number) {
  if (REQ.error[i]) return STORY.requests.errors[REQ.error[i]];
  return STATUSES[REQ.status[i]];
}

function tookText(i: number) {
  if (REQ.latency[i] !== NO_TIME) return `answered after ${span(REQ.latency[i])}`;
  return REQ.status[i] === 1 ? "no answer expected" : "no answer";
}

export function requestFields(i: number) {
  const conn = STORY.lanes.connections[REQ.conn[i]];
  const client = STORY.lanes.clients[conn.client];
  const names = STORY.requests;
  const given = (value: string | number, text?: string) => (value ? (text ?? value) : null);
  return [
    ["Request", requestId(i)],
    ["Sent", `${clock(REQ.start[i], 6)} · ${wallClock(REQ.start[i])}`],
    ["Answer", tookText(i)],
    ["Outcome", requestOutcome(i)],
    ["Client", `${client.name} (${words(client.kind)}), ${conn.from}`],
    ["Broker", `${nodeName(conn.node_id)}, ${conn.to}`],
    ["Client id", given(names.client_ids[REQ.client[i]])],
    ["Correlation id", grouped(REQ.correlation[i])],
    ["Packets", packetText(i)],
    ["Group", given(names.groups[REQ.group[i]])],
    ["Generation or epoch", REQ.generation[i] >= 0 ? REQ.generation[i] : null],
    ["Transactional id", given(names.transactional_ids[REQ.transaction[i]])],
    ["Acks", REQ.acks[i] < 3 ? REQ.acks[i] - 1 : null],
    ["Partitions", given(REQ.n_partitions[i])],
    ["Records", given(REQ.n_records[i], `${grouped(REQ.n_records[i])}, ${bytes(REQ.record_bytes[i])}`)],
    ["Sizes", `${bytes(REQ.request_bytes[i])} asked, ${bytes(REQ.response_bytes[i])} answered`],
    ["In flight", given(REQ.in_flight[i], `${REQ.in_flight[i]} on this connection`)],
    ["Throttled", given(REQ.throttle_ms[i], `${REQ.throttle_ms[i]} ms`)],
    ["Stands for", REQ.weight[i] > 1 ? `${count(REQ.weight[i], "request")} like it nearby` : null],
  ].filter(([, value]) => value !== null && value !== undefined);
}

function packetText(i: number) {
  const files = STORY.capture.files;
  const name = files.length > 1 && files[REQ.capture[i]] ? ` of ${files[REQ.capture[i]].path}` : "";
  return `${packetsOf(i).join(" (request), ")}${packetsOf(i).length > 1 ? " (answer)" : ""}${name}`;
}
