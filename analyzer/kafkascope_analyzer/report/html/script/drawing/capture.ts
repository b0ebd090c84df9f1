// The page's head, and at its foot the capture itself: files, what could not be read, errors, brokers.

import { STORY } from "../facts/data.ts";
import { bytes, clock, figure, grouped, nodeName, words } from "../facts/figures.ts";
import { brand, button, byId, el, hint, isNarrow, jump, section } from "./dom.ts";
import { setFilter } from "./filter_form.ts";
import { table } from "./table.ts";
import { resized } from "./timeline.ts";

export function pageHead() {
  const { title, facts } = STORY.capture;
  return el(
    "header",
    {},
    brand(title, "kafkascope report"),
    el(
      "p",
      { class: "facts" },
      facts.map((fact) => el("span", {}, fact)),
    ),
    el(
      "p",
      { class: "hint" },
      "Times are minutes, seconds and milliseconds after the capture’s start; times of day are UTC.",
    ),
  );
}

export function navigation() {
  const places = [
    ["happened", "What happened"],
    ["timeline", "Timeline"],
    ...(isNarrow() ? [["incidents", "Incidents"]] : []),
    ["clients", "Clients"],
    ["cluster", "Cluster"],
    ["groups", "Groups"],
    ["transactions", "Transactions"],
    ["flow", "Topics"],
    ["latency", "Latency and load"],
    ["service", "Service levels"],
    ["capture", "Capture"],
  ];
  const go = (id: string) => (event: Event) => {
    event.preventDefault();
    jump(id);
    const title = byId(`${id}-title`);
    title.setAttribute("tabindex", "-1");
    title.focus({ preventScroll: true });
  };
  return el(
    "nav",
    { "aria-label": "Parts of the report" },
    places.map(([id, title]) => el("a", { href: `#${id}`, onclick: go(id) }, title)),
    button("Light / dark", switchTheme, { class: "small theme" }),
  );
}

function switchTheme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  resized();
}

export function captureSection() {
  return section(
    "capture",
    "Capture",
    filesTable(),
    brokersTable(),
    errorsTable(),
    unreadTable(),
    hint("`kafkascope report` prints the same in a terminal; the tables of the dataset have every row."),
  );
}

function filesTable() {
  const columns = [
    ["File"],
    ["Format"],
    ["Packets", "num"],
    ["Cut packets", "num"],
    ["Dropped", "num"],
    ["Size", "num"],
    ["From", "num"],
    ["To", "num"],
  ];
  const rows = STORY.capture.files.map((file) => [
    file.path,
    file.format,
    grouped(file.n_packets ?? 0),
    file.n_truncated ?? 0,
    file.n_dropped ?? "not known",
    bytes(file.size_bytes ?? 0),
    clock(file.first_ns),
    clock(file.last_ns),
  ]);
  return table("Files", columns, rows);
}

function brokersTable() {
  const columns = [
    ["Broker"],
    ["Address"],
    ["Advertised"],
    ["Rack"],
    ["Connections", "num"],
    ["Requests", "num"],
    ["Errors", "num"],
  ];
  const rows = STORY.cluster.brokers.map((broker) => [
    nodeName(broker.node_id),
    broker.addresses.join(", "),
    broker.advertised.join(", "),
    broker.rack ?? "",
    broker.n_connections,
    figure(broker.n_requests),
    figure(broker.n_errors),
  ]);
  return rows.length ? table("Brokers", columns, rows) : hint("No broker was named in the capture.");
}

function errorsTable() {
  const columns = [["Error"], ["API"], ["Times", "num"], ["First", "num"], ["Last", "num"], [""]];
  const rows = STORY.errors.kinds.map((kind) => [
    kind.error_name,
    kind.api_name,
    kind.n,
    clock(kind.first_ns),
    clock(kind.last_ns),
    button(
      "Show",
      () => {
        setFilter({ error: kind.error_name });
        jump("timeline");
      },
      { class: "small", "aria-label": `Show ${kind.error_name} in the timeline` },
    ),
  ]);
  return rows.length
    ? table("Errors in the brokers’ answers", columns, rows)
    : hint("No broker answered with an error.");
}

function unreadTable() {
  const { unread } = STORY;
  const columns = [["Why"], ["Stretches", "num"], ["Bytes", "num"]];
  const rows = unread.undecoded.map((one) => [words(one.reason), grouped(one.n), bytes(one.bytes)]);
  return [
    rows.length ? table("What could not be read", columns, rows) : hint("Every byte of the streams could be read."),
    el(
      "ul",
      {},
      STORY.capture.unread.map((text) => el("li", {}, text)),
    ),
  ];
}
