// The cluster at a moment: clients at the left, brokers at the right, between them what their open connections are for.

import { isGone, type Link, type Moment, stateAt } from "../facts/cluster_at.ts";
import { END, STORY } from "../facts/data.ts";
import { clock, count, nodeName, shortened, words } from "../facts/figures.ts";
import { clusterPicture } from "../layout/cluster_picture.ts";
import { VIEW, viewChanged } from "../layout/view.ts";
import { button, byId, details, el, hint, jump, picture, replace, section, svg } from "./dom.ts";
import { table } from "./table.ts";

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
  const state = stateAt(ns, VIEW.brokers);
  replace(
    byId("topology"),
    topologyPicture(state),
    details("Table of the moment", false, momentTable(state)),
    details("Who led what", false, ownersTable(ns)),
  );
  viewChanged();
}

function topologyPicture(state: Moment) {
  const { clients, shown, nodes, height, clientY, nodeY } = clusterPicture(state);
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
  const columns = [["Time", "num"], ["What changed"], ["Reported by"], ["Packet", "num"], [""]];
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
