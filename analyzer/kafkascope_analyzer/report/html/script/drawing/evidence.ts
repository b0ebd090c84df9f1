// What proves a sentence: requests with their packet numbers, connections, and the command that cuts them out.

import { packetsOfEnd } from "../facts/connections.ts";
import { connectionPlace, findRequest, STORY } from "../facts/data.ts";
import { clock, nodeName, words } from "../facts/figures.ts";
import { ROWS, rowOfConnection } from "../layout/rows.ts";
import { showStretch, VIEW } from "../layout/view.ts";
import { button, el, jump } from "./dom.ts";
import { clearFilter } from "./filter_form.ts";
import { openRequest } from "./panel.ts";
import { reveal, showAt } from "./reveal.ts";
import { outcome } from "./signs.ts";
import { scrollTo, TIMELINE } from "./stage.ts";
import { table } from "./table.ts";

function evidenceRow(id: string) {
  const request = STORY.evidence[id];
  if (!request) return [id, "", "", "", "", "", ""];
  const packets = [request.request_packet_no, request.response_packet_no].filter((packet) => packet);
  return [
    button(id, () => openEvidence(id), { class: "link" }),
    clock(request.ts_ns, 6),
    `${request.api_name} v${request.api_version}`,
    nodeName(request.node_id),
    request.took,
    request.error_name ? outcome("fatal", request.error_name) : words(request.status),
    packets.join(", "),
  ];
}

const EVIDENCE_COLUMNS = [
  ["Request"],
  ["Time", "num"],
  ["API"],
  ["Broker"],
  ["Latency", "num"],
  ["Outcome"],
  ["Packets", "num"],
];

// ids: of requests; others (connections) are named in a line.
export function evidenceTable(ids: string[], title: string) {
  const requests = ids.filter((id) => STORY.evidence[id]);
  const conns = [...new Set(ids.filter((id) => !STORY.evidence[id]))]
    .map((id) => connectionPlace(id))
    .filter((n) => n >= 0);
  return [requests.length ? table(title, EVIDENCE_COLUMNS, requests.map(evidenceRow)) : null, connectionList(conns)];
}

function connectionList(conns: number[]) {
  if (!conns.length) return null;
  return el(
    "ul",
    { class: "plain" },
    conns.map((n) => {
      const conn = STORY.lanes.connections[n];
      const ended = conn.close_kind
        ? `, ended ${words(conn.close_kind)} at ${clock(conn.close_ns ?? conn.last_ns)}`
        : "";
      return el(
        "li",
        {},
        button(`${conn.from} → ${conn.to}`, () => showConnection(n), { class: "link" }),
        `${ended} `,
        packetsOfEnd(n),
      );
    }),
  );
}

export function openEvidence(id: string) {
  const i = findRequest(id);
  if (i >= 0) {
    reveal(i);
    openRequest(i);
    return jump("timeline");
  }
  const request = STORY.evidence[id];
  if (request) showAt("timeline", request.ts_ns - 5e7, request.ts_ns + 5e7);
  return undefined;
}

export function showConnection(n: number) {
  const conn = STORY.lanes.connections[n];
  if (STORY.lanes.clients[conn.client].kind === "broker") VIEW.brokers = true;
  VIEW.open.add(conn.client);
  clearFilter();
  const row = ROWS[rowOfConnection(n)];
  scrollTo(row);
  TIMELINE.cursor = ROWS.indexOf(row);
  showStretch(conn.first_ns, Math.max(conn.last_ns, conn.first_ns + 1e6));
  jump("timeline");
}

export function packetLinks(ids: (string | null)[] | null) {
  return (ids || [])
    .filter((id): id is string => id !== null && id in STORY.evidence)
    .map((id) => {
      const { request_packet_no, response_packet_no } = STORY.evidence[id];
      const text = [request_packet_no, response_packet_no].filter((packet) => packet).join(", ");
      return [button(text || id, () => openEvidence(id), { class: "link", "aria-label": `Show request ${id}` }), " "];
    });
}
