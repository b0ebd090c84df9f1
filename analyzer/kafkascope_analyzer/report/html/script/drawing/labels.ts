// Labels beside the canvas: buttons, so that a keyboard opens and closes a client.

import { words } from "../facts/figures.ts";
import { type ClientRow, type Row, toggleClient } from "../layout/rows.ts";
import { VIEW } from "../layout/view.ts";
import { nodeLabel } from "./brokers.ts";
import { button, el } from "./dom.ts";
import { swatch } from "./ink.ts";

export function labelOf(row: Row) {
  if (row.kind === "cluster")
    return el(
      "div",
      { class: "label cluster" },
      el("strong", {}, "Cluster"),
      el("span", {}, "leaders, coordinators, brokers"),
    );
  if (row.kind === "node") return nodeLabel(row);
  if (row.kind === "client") return clientLabel(row);
  const { conn } = row;
  const roles = [...new Set(conn.roles.map((role) => words(role.role)))].join(", ") || conn.protocol;
  const title = `${conn.from} → ${conn.to}: ${roles}`;
  return el(
    "div",
    { class: "label conn", title },
    conn.family === null ? el("span", { class: "swatch" }) : swatch(conn.family),
    el("span", { class: "to" }, conn.node_id === null ? conn.to : `node ${conn.node_id}`),
    el("span", { class: "what" }, roles),
  );
}

function clientLabel(row: ClientRow) {
  const { client, number } = row;
  const open = VIEW.open.has(number);
  const toggle = button(
    [el("span", { class: "arrow", "aria-hidden": "true" }, open ? "▾" : "▸"), el("strong", {}, client.name)],
    () => toggleClient(number),
    { class: "toggle", "aria-expanded": String(open), title: `${client.name} at ${client.client_ip}` },
  );
  return el("div", { class: "label client" }, toggle, el("span", { class: "what" }, client.what));
}
