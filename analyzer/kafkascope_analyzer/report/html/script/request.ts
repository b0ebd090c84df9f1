// One request: the lines of the tooltip, and the panel with all that is known of it.

import { showClient } from "./clients.ts";
import {
  apiName,
  cutCommand,
  type Named,
  NO_TIME,
  namedBy,
  packetsOf,
  REQ,
  requestId,
  STATUSES,
  STORY,
} from "./data.ts";
import { announce, button, byId, type Child, command, el, replace } from "./dom.ts";
import { bytes, clock, count, grouped, listOf, nodeName, outcome, span, wallClock, words } from "./figures.ts";
import { isTrouble } from "./filter.ts";
import { reveal, select } from "./pointer.ts";
import { showStretch, VIEW, viewChanged } from "./view.ts";

export function requestLines(i: number) {
  const lines = [
    `${apiName(i)} v${REQ.version[i]} · ${requestOutcome(i)}`,
    `${clock(REQ.start[i], 6)} · ${tookText(i)}`,
  ];
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

function requestFields(i: number) {
  const conn = STORY.lanes.connections[REQ.conn[i]];
  const client = STORY.lanes.clients[conn.client];
  const names = STORY.requests;
  const given = (value: Child, text?: string): Child => (value ? (text ?? value) : null);
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

export function requestPanel() {
  return el("aside", { id: "panel", hidden: true, tabindex: "-1", "aria-labelledby": "panel-title" });
}

export function openRequest(i: number) {
  VIEW.request = i;
  const panel = byId("panel");
  const id = requestId(i);
  replace(
    panel,
    el(
      "div",
      { class: "bar" },
      el("h2", { id: "panel-title" }, `${apiName(i)} v${REQ.version[i]}`),
      button("Close", closePanel, { class: "small" }),
    ),
    el("p", {}, outcome(isTrouble(i) ? "fatal" : "recovered", requestOutcome(i))),
    el(
      "dl",
      {},
      requestFields(i).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
    ),
    namedBy(i).length
      ? el(
          "p",
          {},
          `Topic-partitions: ${namedBy(i).map(partitionText).join(", ")}${REQ.n_partitions[i] > namedBy(i).length ? " …" : ""}`,
        )
      : null,
    el("h3", {}, "For Wireshark"),
    command(cutCommand("--request", id, `request-${id}`)),
    el(
      "p",
      { class: "row" },
      button("◂ Before", () => beside(-1), { class: "small" }),
      button("After ▸", () => beside(1), { class: "small" }),
      button(
        "Show in timeline",
        () => {
          reveal(i);
          jump("timeline");
        },
        { class: "small" },
      ),
      button("This client", () => showClient(STORY.lanes.connections[REQ.conn[i]].client, true), { class: "small" }),
    ),
  );
  if (panel.hidden) PANEL_OPENER = document.activeElement as HTMLElement | null;
  panel.hidden = false;
  announce(requestLines(i).join(", "));
  viewChanged();
}

let PANEL_OPENER: HTMLElement | null = null;

export function closePanel() {
  byId("panel").hidden = true;
  VIEW.request = -1;
  PANEL_OPENER?.focus?.();
  viewChanged();
}

// The request before or after on the same connection.
function beside(by: number) {
  const i = VIEW.request + by;
  if (i < 0 || i >= REQ.n || REQ.conn[i] !== REQ.conn[VIEW.request])
    return announce("No further request on this connection");
  select(i);
  return openRequest(i);
}

// Shows a stretch of time in a part of the page.
export function showAt(id: string, from: number, to: number) {
  showStretch(from, to);
  jump(id);
}

export function jump(id: string) {
  byId(id).scrollIntoView({
    behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth",
    block: "start",
  });
}
