// The table beside the timeline: what is in view, for those who read rather than look.

import { quoted } from "../facts/commands.ts";
import { apiText, NO_TIME, namedBy, packetsOf, REQ, requestId, STORY } from "../facts/data.ts";
import { clock, count, grouped, listOf, nodeName, span } from "../facts/figures.ts";
import { isTrouble } from "../facts/filter.ts";
import { partitionText, requestOutcome } from "../facts/requests.ts";
import { requestsInView } from "../layout/in_view.ts";
import { VIEW } from "../layout/view.ts";
import { button, command, details, el, replace } from "./dom.ts";
import { openRequest } from "./panel.ts";
import { outcome } from "./signs.ts";
import { table } from "./table.ts";

const IN_VIEW = {} as { body: HTMLElement; box: HTMLDetailsElement };

export function inView() {
  IN_VIEW.body = el("div", {});
  IN_VIEW.box = details("Table of what is in view", false, IN_VIEW.body);
  IN_VIEW.box.id = "in-view";
  IN_VIEW.box.addEventListener("toggle", writeInView);
  return IN_VIEW.box;
}

let pendingTable = 0;

export function inViewLater() {
  clearTimeout(pendingTable);
  if (IN_VIEW.box.open) pendingTable = window.setTimeout(writeInView, 300);
}

function writeInView() {
  if (!IN_VIEW.box.open) return;
  const { listed, n, nTrouble } = requestsInView();
  const columns = [
    ["Time", "num"],
    ["Client"],
    ["Broker"],
    ["Request"],
    ["About"],
    ["Took", "num"],
    ["Outcome"],
    ["Packets", "num"],
    [""],
  ];
  const rows = listed.map(requestRow);
  const more = n > listed.length ? ` The table has the first ${listed.length}; zoom in or filter for the others.` : "";
  replace(
    IN_VIEW.body,
    el(
      "p",
      {},
      `${count(n, "request")} from ${clock(VIEW.from)} to ${clock(VIEW.to)}, ${grouped(nTrouble)} in trouble (listed first).${more}`,
    ),
    cutLine(),
    table("Requests in view", columns, rows),
  );
}

function cutLine() {
  const since = (ns: number) => `+${(ns / 1e9).toFixed(6)}s`;
  return el(
    "p",
    {},
    "All packets of this stretch: ",
    command(
      `kafkascope cut ${quoted(STORY.capture.dataset)} --from ${since(VIEW.from)} --to ${since(VIEW.to)} -o view.pcapng`,
    ),
  );
}

function requestRow(i: number) {
  const conn = STORY.lanes.connections[REQ.conn[i]];
  const about = [
    ...namedBy(i).map(partitionText),
    STORY.requests.groups[REQ.group[i]],
    STORY.requests.transactional_ids[REQ.transaction[i]],
  ].filter(Boolean);
  const shown = outcome(isTrouble(i) ? "fatal" : "recovered", requestOutcome(i));
  return [
    clock(REQ.start[i], 6),
    STORY.lanes.clients[conn.client].name,
    `${nodeName(conn.node_id)}`,
    apiText(i),
    listOf(about, 2),
    REQ.latency[i] === NO_TIME ? "" : span(REQ.latency[i]),
    shown,
    packetsOf(i).join(", "),
    button("Show", () => openRequest(i), { class: "small", "aria-label": `Show request ${requestId(i)}` }),
  ];
}
