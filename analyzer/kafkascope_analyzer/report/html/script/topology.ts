// The cluster at a moment: clients at the left, brokers at the right, between them what their open connections are for.

import { END, STORY } from "./data.ts";
import { button, byId, details, el, hint, picture, replace, section, svg, table } from "./dom.ts";
import { clock, count, nodeName, words } from "./figures.ts";
import { jump } from "./request.ts";
import type { LaneRole, Owner } from "./story.d.ts";
import { VIEW, viewChanged } from "./view.ts";

// Open connections of a client to a broker, with the roles that had begun.
interface Link {
  client: number;
  node: number | string;
  roles: Map<string, LaneRole>;
  n: number;
}

interface Moment {
  ns: number;
  links: Link[];
  led: Map<number | string, Record<string, number>>;
}

const MOST_PICTURED = 24;

export function topologySection() {
  const slider = el("input", {
    type: "range",
    id: "moment",
    min: 0,
    max: 1000,
    value: 500,
    "aria-describedby": "moment-text",
    oninput: () => showMoment((Number(slider.value) / 1000) * END),
  });
  const extra = { class: "small" };
  return section(
    "cluster",
    "Cluster at a moment",
    el(
      "div",
      { class: "row" },
      el("label", { for: "moment" }, "Moment "),
      slider,
      el("output", { id: "moment-text" }),
      button("◂ Change before", () => toChange(-1), extra),
      button("Next change ▸", () => toChange(1), extra),
    ),
    el("div", { id: "topology" }),
    restartsTable(),
    changesTable(),
  );
}

export function startMoment() {
  showMoment(VIEW.at ?? END / 2);
}

// Changes by time; a change of brokers without a node is none.
function toChange(by: number) {
  const times = STORY.topology.changes.map((change) => change.ts_ns);
  const at = VIEW.at ?? 0;
  const next = by > 0 ? times.find((ns) => ns > at + 1) : times.findLast((ns) => ns < at - 1);
  if (next !== undefined) showMoment(next);
}

function showMoment(ns: number) {
  VIEW.at = ns;
  (byId("moment") as HTMLInputElement).value = String(Math.round((ns / END) * 1000));
  byId("moment-text").textContent = clock(ns);
  const state = stateAt(ns);
  replace(
    byId("topology"),
    topologyPicture(state),
    details("Table of the moment", false, momentTable(state)),
    details("Who led what", false, ownersTable(ns)),
  );
  viewChanged();
}

// Open connections by client and node, with the roles that had begun.
function stateAt(ns: number) {
  const links = new Map<string, Link>();
  STORY.lanes.connections.forEach((conn) => {
    if (conn.protocol !== "kafka" || conn.first_ns > ns || (conn.close_ns ?? conn.last_ns) < ns) return;
    const client = STORY.lanes.clients[conn.client];
    if (client.kind === "broker" && !VIEW.brokers) return;
    const key = `${conn.client}:${conn.node_id ?? conn.to}`;
    const link = links.get(key) || {
      client: conn.client,
      node: conn.node_id ?? conn.to,
      roles: new Map<string, LaneRole>(),
      n: 0,
    };
    link.n += 1;
    for (const role of conn.roles) if ((role.first_ns ?? 0) <= ns) link.roles.set(role.role, role);
    links.set(key, link);
  });
  const led = new Map<number | string, Record<string, number>>();
  for (const owner of STORY.topology.owners) {
    const node = ownerAt(owner, ns);
    if (node === null) continue;
    const known = led.get(node) ?? {};
    led.set(node, { ...known, [owner.kind]: (known[owner.kind] ?? 0) + 1 });
  }
  return { ns, links: [...links.values()], led };
}

function ownerAt(owner: Owner, ns: number) {
  let node = null;
  owner.since_ns.forEach((since, n) => {
    if (since <= ns) node = owner.node_ids[n];
  });
  return node;
}

function isGone(node: number, ns: number) {
  return STORY.topology.presence.filter((one) => one.node_id === node && one.at_ns <= ns).at(-1)?.what === "gone";
}

function topologyPicture(state: Moment) {
  const clients = [...new Set(state.links.map((link) => link.client))].sort((a, b) => a - b);
  const shown = clients.slice(0, MOST_PICTURED);
  const known = STORY.topology.brokers.map((broker) => broker.node_id);
  const nodes = [...new Set([...known, ...state.links.map((link) => link.node)])].slice(0, MOST_PICTURED);
  const height = Math.max(shown.length * 30, nodes.length * 74, 100) + 20;
  const clientY = (n: number) => ((n + 0.5) * (height - 20)) / Math.max(1, shown.length) + 10;
  const nodeY = (n: number) => ((n + 0.5) * (height - 20)) / Math.max(1, nodes.length) + 10;
  const links = state.links
    .filter((link) => shown.includes(link.client) && nodes.includes(link.node))
    .map((link) => linkLine(link, clientY(shown.indexOf(link.client)), nodeY(nodes.indexOf(link.node))));
  const left = shown.map((number, n) => clientBox(number, clientY(n)));
  const right = nodes.map((node, n) => brokerBox(node, nodeY(n), state));
  const rest =
    clients.length > shown.length
      ? hint(`The picture has ${shown.length} of ${clients.length} clients; the table has all.`)
      : null;
  const name = "Clients and brokers at the moment; the table below says the same";
  const key = "Lines: solid for records, dashes for a group, dash and dot for transactions, dots for discovery.";
  return [picture("topology", { width: 960, height, name }, links, left, right), hint(key), rest];
}

function clientBox(number: number, y: number) {
  const name = STORY.lanes.clients[number].name;
  return svg(
    "g",
    {},
    svg("rect", { class: "client-box", x: 4, y: y - 12, width: 230, height: 24, rx: 12 }),
    svg("text", { x: 119, y: y + 4, "text-anchor": "middle" }, shortened(name, 32)),
  );
}

export function shortened(text: string, most: number) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function brokerBox(node: number | string, y: number, state: Moment) {
  const gone = typeof node === "number" && isGone(node, state.ns);
  const led = state.led.get(node) || {};
  const does = Object.entries(led)
    .map(([kind, n]) => `${n} ${kind === "leader" ? "led" : words(kind)}`)
    .join(", ");
  const broker = STORY.topology.brokers.find((one) => one.node_id === node);
  return svg(
    "g",
    { class: gone ? "gone" : "" },
    svg("rect", { class: "broker-box", x: 700, y: y - 26, width: 254, height: 52, rx: 5 }),
    svg(
      "text",
      { class: "strong", x: 712, y: y - 7 },
      `${typeof node === "number" ? nodeName(node) : node}${gone ? " ✕ gone" : ""}${broker?.rack ? ` · ${broker.rack}` : ""}`,
    ),
    svg("text", { class: "small", x: 712, y: y + 14 }, shortened(does || (broker?.addresses[0] ?? ""), 44)),
  );
}

// The line's dashes say what it is for, as its label does.
function linkLine(link: Link, fromY: number, toY: number) {
  const roles = [...link.roles.keys()];
  const shown = link.roles.get(roles.find((role) => role.endsWith("coordinator")) ?? roles[0]);
  const family = STORY.families[shown?.family ?? STORY.families.length - 1];
  const bend = `M 234 ${fromY} C 430 ${fromY}, 500 ${toY}, 700 ${toY}`;
  return svg(
    "g",
    {},
    svg(
      "path",
      { class: `link link-${family.name}`, d: bend },
      svg("title", {}, `${roles.map(words).join(", ") || "no role yet"}, ${count(link.n, "connection")}`),
    ),
  );
}

function momentTable(state: Moment) {
  const columns = [["Client"], ["Broker"], ["Roles"], ["Connections", "num"]];
  const rows = state.links.map((link) => [
    STORY.lanes.clients[link.client].name,
    typeof link.node === "number" ? nodeName(link.node) : link.node,
    [...link.roles.keys()].map(words).join(", ") || "none yet",
    link.n,
  ]);
  return table(`Connections open at ${clock(state.ns)}`, columns, rows);
}

function ownersTable(ns: number) {
  const columns = [["Subject"], ["What"], ["Node"], ["Since", "num"], ["Owners in the capture"]];
  const rows = STORY.topology.owners.slice(0, 300).map((owner) => {
    const place = owner.since_ns.findLastIndex((since) => since <= ns);
    return [
      owner.subject,
      owner.kind,
      place < 0 ? "not known yet" : nodeName(owner.node_ids[place]),
      place < 0 ? "" : clock(owner.since_ns[place]),
      owner.node_ids.map((node) => node ?? "none").join(" → "),
    ];
  });
  return table(`Who led and coordinated what at ${clock(ns)}`, columns, rows);
}

function restartsTable() {
  const { n, sentence, listed } = STORY.restarts;
  if (!n) return hint("No broker went down, and none came back with another release.");
  const columns = [["Broker"], ["Down at", "num"], ["For", "num"], ["Release"], ["Who waited"]];
  const rows = listed.map((one) => [one.broker, one.at, one.lasted, one.release, one.cost]);
  return [hint(sentence), table(`Restarts of brokers (${count(n, "restart")})`, columns, rows)];
}

function changesTable() {
  const { changes, n_changes } = STORY.topology;
  if (!changes.length) return hint("No leader, coordinator or broker changed in the capture.");
  const columns = [["Time", "num"], ["What changed"], ["Told by"], ["Packet", "num"], [""]];
  const rows = changes.slice(0, 300).map((change) => [
    clock(change.ts_ns),
    change.text,
    change.api_name ?? "",
    change.packet_no ?? "",
    button(
      "Look",
      () => {
        showMoment(change.ts_ns);
        jump("cluster");
      },
      { class: "small", "aria-label": `Look at the cluster at ${clock(change.ts_ns)}` },
    ),
  ]);
  return details(
    `All ${count(n_changes, "change")} of leaders, coordinators and brokers`,
    false,
    table("Changes of the cluster", columns, rows),
  );
}
