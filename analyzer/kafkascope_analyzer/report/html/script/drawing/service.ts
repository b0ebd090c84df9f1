// Service levels of topics and groups, bytes between racks, and how clients connect: what saved questions answer.

import { STORY } from "../facts/data.ts";
import { bytes, count, figure, grouped, span } from "../facts/figures.ts";
import { hint, section } from "./dom.ts";
import { table } from "./table.ts";

export function serviceSection() {
  return section("service", "Service levels, racks, security", levels(), racks(), security());
}

function more(n: number, shown: number, question: string) {
  return n > shown ? hint(`… and ${grouped(n - shown)} more: kafkascope sql --run ${question}`) : null;
}

function levels() {
  const { n, listed } = STORY.service_levels;
  if (!n) return hint("No records went through a topic that a group reads, or the stories are not there.");
  const columns = [
    ["Topic"],
    ["Group"],
    ["Minutes", "num"],
    ["Minutes stalled", "num"],
    ["Available", "num"],
    ["Acked p50", "num"],
    ["Acked p99", "num"],
    ["Fetched p50", "num"],
    ["Fetched p99", "num"],
    ["Lag at most", "num"],
    ["Lag at the end", "num"],
  ];
  const rows = listed.map((one) => [
    one.topic,
    one.group_id ?? "",
    grouped(one.n_minutes),
    grouped(one.n_minutes_stalled),
    `${one.available_percent} %`,
    span(one.acked_p50_us),
    span(one.acked_p99_us),
    span(one.fetched_p50_us),
    span(one.fetched_p99_us),
    figure(one.lag_max),
    figure(one.lag_last),
  ]);
  return [
    hint("Available: minutes without a stall, of those in which records of the topic went."),
    table("Service levels by topic and group", columns, rows),
    more(n, rows.length, "slo"),
  ];
}

function racks() {
  const { present, n, listed, n_readers, readers } = STORY.racks;
  if (!present) return hint("Racks: the capture does not show in which rack a broker is, or not of whole connections.");
  const columns = [
    ["Client"],
    ["Address"],
    ["Its rack"],
    ["Rack of the brokers"],
    ["Sent", "num"],
    ["Got", "num"],
    ["On the host of a broker"],
  ];
  const crossing = listed.map((one) => [
    one.client_id ?? "",
    one.client_ip ?? "",
    one.client_rack,
    one.broker_rack,
    bytes(one.bytes_sent),
    bytes(one.bytes_received),
    one.by_broker ? "yes" : "no",
  ]);
  const reading = readers.map((one) => [
    one.client_id ?? "",
    one.client_ip ?? "",
    one.rack,
    bytes(one.bytes_inside),
    bytes(one.bytes_outside),
    one.what,
  ]);
  const of_reader = [["Client"], ["Address"], ["client.rack"], ["Read inside", "num"], ["Outside", "num"], ["Why"]];
  return [
    hint(`${bytes(STORY.racks.bytes)} went from one rack to another.`),
    n ? table("Bytes from one rack to another", columns, crossing) : null,
    more(n, listed.length, "cross-rack-bytes"),
    n_readers ? table("Consumers that say their rack", of_reader, reading) : null,
    more(n_readers, readers.length, "rack-readers"),
  ];
}

function security() {
  const { n, n_plain_text, n_denied, n_failed_logins, listed } = STORY.security;
  if (!n) return null;
  const columns = [
    ["Client"],
    ["Address"],
    ["Transport"],
    ["Mechanism"],
    ["Principal"],
    ["Connections", "num"],
    ["Failed logins", "num"],
    ["Denied", "num"],
    ["Weak, or denied"],
  ];
  const rows = listed.map((one) => [
    one.client_id ?? "",
    one.client_ip ?? "",
    one.tls_version ?? one.transport,
    one.sasl_mechanism ?? "",
    one.principal ?? "",
    grouped(one.n_connections),
    grouped(one.n_failed_logins),
    grouped(one.n_denied),
    [...one.weak, ...one.denied].join("; "),
  ]);
  const failed = `${count(n_failed_logins, "login")} failed, ${count(n_denied, "operation")} denied`;
  return [
    hint(`${count(n_plain_text, "connection")} in plain text; ${failed}.`),
    table("How clients connect", columns, rows),
    more(n, listed.length, "security-posture"),
  ];
}
