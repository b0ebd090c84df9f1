// The timeline's rows from top to bottom: the cluster's, brokers with their states, then clients with their connections where they are open.

const CLUSTER_ROW = 30;
const CLIENT_ROW = 45;
const CONN_ROW = 20;
let ROWS = [];
let ROWS_HEIGHT = 0;

function layRows() {
  ROWS = [{ kind: "cluster", height: CLUSTER_ROW }];
  for (const lane of STORY.broker_lanes) ROWS.push({ kind: "node", lane, height: NODE_ROW });
  STORY.lanes.clients.forEach((client, number) => {
    if (!isShown(client, number)) return;
    ROWS.push({ kind: "client", client, number, height: CLIENT_ROW, conns: client.conns });
    if (VIEW.open.has(number)) for (const conn of client.conns) addConnection(client, conn);
  });
  let top = 0;
  for (const row of ROWS) {
    row.top = top;
    top += row.height;
  }
  ROWS_HEIGHT = top;
  rowsChanged();
}

function addConnection(client, number) {
  if (FILTERED && !LANE_HITS[number]) return;
  ROWS.push({
    kind: "conn",
    client,
    number,
    conn: STORY.lanes.connections[number],
    height: CONN_ROW,
    conns: [number],
  });
}

// Brokers' own clients are left out unless they are asked for; a filter shows the clients that it finds something of.
function isShown(client, number) {
  if (client.kind === "broker" && !VIEW.brokers && FILTER.client !== client.client_instance_id) return false;
  if (!FILTERED) return true;
  if (FILTER.client) return FILTER.client === client.client_instance_id;
  return client.conns.some((conn) => LANE_HITS[conn] > 0) || (onlyText() && matchesText(client));
}

function onlyText() {
  return Object.entries(FILTER).every(([name, value]) => name === "text" || !value);
}

function matchesText(client) {
  const text = FILTER.text.toLowerCase();
  return [
    client.client_id,
    client.client_ip,
    client.client_instance_id,
    client.group_id,
  ].some((name) => String(name ?? "").toLowerCase().includes(text));
}

function toggleClient(number) {
  if (VIEW.open.has(number)) VIEW.open.delete(number);
  else VIEW.open.add(number);
  layRows();
  viewChanged();
}

function openAll(open) {
  VIEW.open = new Set(open ? ROWS.filter((row) => row.kind === "client").map((row) => row.number) : []);
  layRows();
  viewChanged();
}

// The first row whose bottom is below y.
function rowAt(y) {
  let from = 0;
  let to = ROWS.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (ROWS[middle].top + ROWS[middle].height <= y) from = middle + 1;
    else to = middle;
  }
  return from;
}

function rowOfConnection(number) {
  return ROWS.findIndex((row) => row.kind === "conn" && row.number === number);
}

// Labels beside the canvas: buttons, so that a keyboard opens and closes a client.
function labelOf(row) {
  if (row.kind === "cluster") return el(
    "div",
    { class: "label cluster" },
    el("strong", {}, "Cluster"),
    el("span", {}, "leaders, coordinators, brokers"),
  );
  if (row.kind === "node") return nodeLabel(row);
  if (row.kind === "client") return clientLabel(row);
  const { conn } = row;
  const family = ROLE_FAMILY[conn.primary_role];
  const roles = [...new Set(conn.roles.map((role) => words(role.role)))].join(", ") || conn.protocol;
  const title = `${conn.from} → ${conn.to}: ${roles}`;
  return el(
    "div",
    { class: "label conn", title },
    family === undefined ? el("span", { class: "swatch" }) : swatch(family),
    el("span", { class: "to" }, conn.node_id === null ? conn.to : `node ${conn.node_id}`),
    el("span", { class: "what" }, roles),
  );
}

function clientLabel(row) {
  const { client, number } = row;
  const open = VIEW.open.has(number);
  const what = `${client.kind === "unassigned" ? "no client known" : words(client.kind)} · ${count(client.conns.length, "connection")}`
    + (client.n_errors ? ` · ${count(client.n_errors, "error")}` : "");
  const toggle = button(
    [el("span", { class: "arrow", "aria-hidden": "true" }, open ? "▾" : "▸"), el("strong", {}, clientName(client))],
    () => toggleClient(number),
    { class: "toggle", "aria-expanded": String(open), title: `${clientName(client)} at ${client.client_ip}` },
  );
  return el("div", { class: "label client" }, toggle, el("span", { class: "what" }, what));
}
