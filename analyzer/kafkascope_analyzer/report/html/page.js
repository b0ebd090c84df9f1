// Made by `make page`. Sources: sha256 eef54905558e99b8952ea02d288062b5613a7ca2a5bbe0d616a9957a3be7d761; lines below: sha256 0178601a4f9018eb2c5125e7964a068c759c37e83225db3b9738ab78af62a925
"use strict";
(() => {
  // facts/data.ts
  var STORY;
  var REQ;
  var END = 1;
  var NO_TIME = 4294967295;
  var ORPHANS = 2147483648;
  var STATUSES = [
    "ok",
    "no response expected",
    "unanswered",
    "orphan response",
    "undecoded",
    "not captured",
    "unknown"
  ];
  function openStory(story, columns) {
    STORY = story;
    END = Math.max(1, (story.capture.end_ns ?? 1) + 1);
    CONNECTION_PLACES = new Map(story.lanes.connections.map((conn, n) => [conn.conn_id, n]));
    CLIENT_PLACES = new Map(story.lanes.clients.map((client, n) => [client.client_instance_id, n]));
    REQ = requestsOf(columns);
  }
  function summed(steps2) {
    const values = new Uint32Array(steps2.length);
    let value = 0;
    for (let i = 0; i < steps2.length; i++) values[i] = value = value + steps2[i] >>> 0;
    return values;
  }
  function requestsOf(columns) {
    const made = { ...columns, n: columns.d_ts.length };
    for (const name of ["conn", "number", "correlation", "packet"]) made[name] = summed(columns[`d_${name}`]);
    const ticks2 = summed(columns.d_ts);
    const unit = STORY.requests.unit;
    made.start = Float64Array.from(ticks2, (tick2) => tick2 * unit);
    made.end = new Float64Array(made.n);
    for (let i = 0; i < made.n; i++) made.end[i] = made.start[i] + (made.took[i] === NO_TIME ? 0 : made.took[i] * 1e3);
    addPlaces(made);
    return made;
  }
  function addPlaces(made) {
    const nConns = STORY.lanes.connections.length;
    made.firstOf = new Uint32Array(nConns + 1);
    made.longest = new Float64Array(nConns);
    made.namedFrom = new Uint32Array(made.n + 1);
    for (let i = 0; i < made.n; i++) {
      const conn = made.conn[i];
      made.firstOf[conn + 1] = i + 1;
      made.longest[conn] = Math.max(made.longest[conn], made.end[i] - made.start[i]);
      made.namedFrom[i + 1] = made.namedFrom[i] + made.n_named[i];
    }
    for (let c = 0; c < nConns; c++) made.firstOf[c + 1] = Math.max(made.firstOf[c + 1], made.firstOf[c]);
  }
  function lowerBound(values, least, from, to) {
    while (from < to) {
      const middle = from + to >>> 1;
      if (values[middle] < least) from = middle + 1;
      else to = middle;
    }
    return from;
  }
  function requestId(i) {
    const number = REQ.number[i];
    const tail = number >= ORPHANS ? `r${number - ORPHANS}` : String(number);
    return `${STORY.lanes.connections[REQ.conn[i]].conn_id}-${tail}`;
  }
  function findRequest(id) {
    const at = id.lastIndexOf("-");
    const conn = connectionPlace(id.slice(0, at));
    if (conn < 0) return -1;
    const tail = id.slice(at + 1);
    const number = tail.startsWith("r") ? ORPHANS + Number(tail.slice(1)) : Number(tail);
    for (let i = REQ.firstOf[conn]; i < REQ.firstOf[conn + 1]; i++) if (REQ.number[i] === number) return i;
    return -1;
  }
  var CONNECTION_PLACES = /* @__PURE__ */ new Map();
  function connectionPlace(connId) {
    return CONNECTION_PLACES.get(connId) ?? -1;
  }
  var CLIENT_PLACES = /* @__PURE__ */ new Map();
  function clientPlace(identity) {
    return CLIENT_PLACES.get(identity) ?? -1;
  }
  function apiName(i) {
    return STORY.requests.apis[REQ.api[i]];
  }
  var NO_VERSION = 65535;
  function apiText(i) {
    return REQ.version[i] === NO_VERSION ? apiName(i) : `${apiName(i)} v${REQ.version[i]}`;
  }
  function packetsOf(i) {
    const asked = REQ.packet[i];
    const answered = asked + REQ.d_response[i] >>> 0;
    return [asked, answered].filter((packet) => packet > 0);
  }
  function responsePacket(i) {
    return REQ.packet[i] + REQ.d_response[i] >>> 0;
  }
  function namedBy(i) {
    const named = [];
    for (let k = REQ.namedFrom[i]; k < REQ.namedFrom[i + 1]; k++) {
      named.push({
        topic: STORY.requests.topics[REQ.topic[k]],
        partition: REQ.partition[k],
        offset: REQ.offset[k],
        error: STORY.requests.errors[REQ.partition_error[k]]
      });
    }
    return named;
  }

  // facts/figures.ts
  function span(us) {
    if (us === null || us === void 0) return "";
    if (us < 0) return `-${span(-us)}`;
    if (us < 1e3) return `${Math.round(us)} µs`;
    for (const [limit, unit, name] of [
      [1e6, 1e3, "ms"],
      [6e7, 1e6, "s"]
    ]) {
      if (us < limit) return `${three(us / unit)} ${name}`;
    }
    const minutes = Math.floor(us / 6e7);
    if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
    return `${minutes} min ${Math.floor(us % 6e7 / 1e6)} s`;
  }
  function three(value) {
    return fixed(value, value < 10 ? 2 : value < 100 ? 1 : 0);
  }
  function fixed(value, digits) {
    const scaled = value * 10 ** digits;
    const isTie = 2 * scaled % 2 === 1 && Number.isInteger(value * 2 ** (digits + 1));
    const even = Math.floor(scaled) + Math.floor(scaled) % 2;
    return (isTie ? even / 10 ** digits : value).toFixed(digits);
  }
  function clock(ns, digits = 3) {
    if (ns === null || ns === void 0) return "";
    const sign = ns < 0 ? "-" : "";
    const tick2 = 10 ** (9 - digits);
    const ticks2 = Math.floor(Math.abs(ns) / tick2);
    const perSecond = 10 ** digits;
    const seconds = Math.floor(ticks2 / perSecond);
    const fraction = digits ? `.${String(ticks2 % perSecond).padStart(digits, "0")}` : "";
    const two = (n) => String(n).padStart(2, "0");
    const hours = Math.floor(seconds / 3600);
    return `${sign}${hours ? `${hours}:` : ""}${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}${fraction}`;
  }
  function wallClock(ns) {
    const ms = Number((BigInt(STORY.capture.origin) + BigInt(Math.floor(ns))) / 1000000n);
    return `${new Date(ms).toISOString().replace("T", " ").replace("Z", "")} UTC`;
  }
  function grouped(n) {
    return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  }
  function figure(n) {
    return n === null ? "" : grouped(n);
  }
  function count(n, one, many) {
    return `${grouped(n)} ${n === 1 ? one : many || `${one}s`}`;
  }
  function bytes(n) {
    if (n < 1e3) return `${n} B`;
    let unit = "";
    for (unit of ["kB", "MB", "GB", "TB"]) {
      n /= 1e3;
      if (n < 1e3) break;
    }
    return `${fixed(n, 1)} ${unit}`;
  }
  function words(name) {
    return String(name ?? "").replaceAll("_", " ");
  }
  function nodeName(id) {
    return id === null || id === void 0 ? "unknown node" : `node ${id}`;
  }
  function listOf(names, most) {
    const shown = names.slice(0, most).join(", ");
    return names.length > most ? `${shown} … and ${grouped(names.length - most)} more` : shown;
  }
  function shortened(text, most) {
    return text.length > most ? `${text.slice(0, most - 1)}…` : text;
  }

  // drawing/dom.ts
  var SVG_SPACE = "http://www.w3.org/2000/svg";
  function filled(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === void 0 || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : String(value));
    }
    node.append(...nodesOf(children));
    return node;
  }
  function nodesOf(children) {
    return children.flatMap((child) => {
      if (child === null || child === void 0 || child === false) return [];
      if (Array.isArray(child)) return nodesOf(child);
      return [typeof child === "object" ? child : String(child)];
    });
  }
  function byId(id) {
    return document.getElementById(id);
  }
  function el(name, attributes, ...children) {
    return filled(document.createElement(name), attributes, children);
  }
  function svg(name, attributes, ...children) {
    return filled(document.createElementNS(SVG_SPACE, name), attributes, children);
  }
  function replace(node, ...children) {
    node.replaceChildren(...nodesOf(children));
    return node;
  }
  function button(text, onclick, attributes = {}) {
    return el("button", { type: "button", onclick, ...attributes }, text);
  }
  function isNarrow() {
    return window.innerWidth < 700;
  }
  function section(id, title, ...children) {
    return el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), ...children);
  }
  function picture(kind, { width, height, name }, ...children) {
    const drawn = svg(
      "svg",
      { class: kind, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name },
      children
    );
    return el("div", { class: "picture", role: "group", "aria-label": name, tabindex: "0" }, drawn);
  }
  function brand(title, command2) {
    return el(
      "div",
      { class: "brand" },
      el("span", { class: "logo", "aria-hidden": "true" }, "◉"),
      el("h1", {}, title),
      el("span", { class: "tool" }, command2)
    );
  }
  function hint(...children) {
    return el("p", { class: "hint" }, ...children);
  }
  function command(text) {
    const code = el("code", {}, text);
    const copy = button("Copy", () => copied(code, copy), { class: "small", "aria-label": `Copy the command ${text}` });
    return el("span", { class: "command" }, code, copy);
  }
  function copied(code, copy) {
    const select2 = () => getSelection()?.selectAllChildren(code);
    if (!navigator.clipboard) return select2();
    return navigator.clipboard.writeText(code.textContent ?? "").then(() => {
      copy.textContent = "Copied";
      setTimeout(() => copy.textContent = "Copy", 1500);
    }, select2);
  }
  function details(summary2, open, ...children) {
    return el("details", { open }, el("summary", {}, summary2), ...children);
  }
  function filledWhenOpen(made, body) {
    const fill = () => made.open && made.childElementCount === 1 && made.append(...nodesOf([body()]));
    made.addEventListener("toggle", fill);
    fill();
    return made;
  }
  function announce(text) {
    byId("announcer").textContent = text;
  }
  function jump(id) {
    byId(id).scrollIntoView({
      behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth",
      block: "start"
    });
  }

  // facts/filter.ts
  var FILTER = { text: "", client: "", group: "", topic: "", api: "", error: "", role: "", errors: false };
  var FILTER_TEXTS = ["text", "client", "group", "topic", "api", "error", "role"];
  var MASK;
  var LANE_HITS;
  var FILTERED = false;
  function computeFilter() {
    const wanted = Object.entries(FILTER).filter(([, value]) => value);
    FILTERED = wanted.length > 0;
    MASK = new Uint8Array(REQ.n).fill(1);
    LANE_HITS = new Uint32Array(STORY.lanes.connections.length);
    if (FILTERED) maskLanes();
    if (FILTERED) maskRequests();
    for (let i = 0; i < REQ.n; i++) LANE_HITS[REQ.conn[i]] += MASK[i];
  }
  function maskLanes() {
    STORY.lanes.connections.forEach((conn, n) => {
      const client = STORY.lanes.clients[conn.client];
      const right = (!FILTER.client || client.client_instance_id === FILTER.client) && (!FILTER.role || conn.roles.some((role) => role.role === FILTER.role));
      if (!right) MASK.fill(0, REQ.firstOf[n], REQ.firstOf[n + 1]);
    });
  }
  function maskRequests() {
    const names = STORY.requests;
    const tests = [];
    if (FILTER.api) tests.push(is(REQ.api, names.apis.indexOf(FILTER.api)));
    if (FILTER.group) tests.push(is(REQ.group, names.groups.indexOf(FILTER.group)));
    if (FILTER.error) tests.push(is(REQ.error, names.errors.indexOf(FILTER.error)));
    if (FILTER.errors) tests.push((i) => isTrouble(i));
    if (FILTER.topic) {
      const topic = names.topics.indexOf(FILTER.topic);
      tests.push((i) => names_topic(i, (t) => t === topic));
    }
    if (FILTER.text) tests.push(textTest(FILTER.text.toLowerCase()));
    for (let i = 0; i < REQ.n; i++) if (MASK[i] && !tests.every((test) => test(i))) MASK[i] = 0;
  }
  function is(column, value) {
    return (i) => column[i] === value;
  }
  function isTrouble(i) {
    return REQ.failed[i] === 1;
  }
  function names_topic(i, right) {
    for (let k = REQ.namedFrom[i]; k < REQ.namedFrom[i + 1]; k++) if (right(REQ.topic[k])) return true;
    return false;
  }
  function textTest(text) {
    const has = (name) => String(name ?? "").toLowerCase().includes(text);
    const flags = (list) => Uint8Array.from(list, (name, n) => n > 0 && has(name) ? 1 : 0);
    const names = STORY.requests;
    const [apis, errors2, groups, topics] = [names.apis, names.errors, names.groups, names.topics].map(flags);
    const [transactions, clients] = [names.transactional_ids, names.client_ids].map(flags);
    const lanes = STORY.lanes.connections.map((conn) => laneText(conn).some(has));
    const packet = /^\d+$/.test(text) ? Number(text) : -1;
    return (i) => lanes[REQ.conn[i]] || apis[REQ.api[i]] > 0 || errors2[REQ.error[i]] > 0 || groups[REQ.group[i]] > 0 || transactions[REQ.transaction[i]] > 0 || clients[REQ.client[i]] > 0 || REQ.packet[i] === packet || responsePacket(i) === packet || names_topic(i, (topic) => topics[topic] > 0);
  }
  function laneText(conn) {
    const client = STORY.lanes.clients[conn.client];
    return [
      conn.conn_id,
      conn.from,
      conn.to,
      client.client_id,
      client.client_instance_id,
      client.kind,
      client.group_id,
      client.software_name,
      client.principal
    ];
  }
  function findsClient(client) {
    if (!FILTERED) return true;
    if (FILTER.client) return FILTER.client === client.client_instance_id;
    return client.conns.some((conn) => LANE_HITS[conn] > 0) || onlyText() && matchesText(client);
  }
  function onlyText() {
    return Object.entries(FILTER).every(([name, value]) => name === "text" || !value);
  }
  function matchesText(client) {
    const text = FILTER.text.toLowerCase();
    return [client.client_id, client.client_ip, client.client_instance_id, client.group_id].some(
      (name) => String(name ?? "").toLowerCase().includes(text)
    );
  }
  function filterText() {
    if (!FILTERED) return "";
    let n = 0;
    for (let i = 0; i < REQ.n; i++) if (MASK[i]) n += REQ.weight[i];
    return `${count(n, "request")} of ${grouped(STORY.requests.n)} on ${count(LANE_HITS.filter((hits) => hits).length, "connection")}`;
  }

  // layout/view.ts
  var VIEW = { from: 0, to: 1, open: /* @__PURE__ */ new Set(), request: -1, client: -1, at: null, brokers: false };
  var VIEW_LISTENERS = [];
  var SHORTEST_VIEW = 2e3;
  function onView(listener) {
    VIEW_LISTENERS.push(listener);
  }
  function viewChanged() {
    for (const listener of VIEW_LISTENERS) listener();
  }
  function setView(from, to) {
    const length = Math.min(END, Math.max(SHORTEST_VIEW, to - from));
    from = Math.min(Math.max(0, from), END - length);
    VIEW.from = from;
    VIEW.to = from + length;
    viewChanged();
  }
  function zoom(factor, around) {
    setView(around - (around - VIEW.from) * factor, around + (VIEW.to - around) * factor);
  }
  function pan(share) {
    const by = (VIEW.to - VIEW.from) * share;
    setView(VIEW.from + by, VIEW.to + by);
  }
  function showStretch(from, to) {
    const room = Math.max((to - from) * 0.25, 2e6);
    setView(from - room, to + room);
  }
  function centre(ns) {
    const half = (VIEW.to - VIEW.from) / 2;
    setView(ns - half, ns + half);
  }

  // layout/rows.ts
  var CLUSTER_ROW = 30;
  var NODE_ROW = 22;
  var CLIENT_ROW = 45;
  var CONN_ROW = 20;
  function hasRequests(row) {
    return row.kind === "client" || row.kind === "conn";
  }
  var ROWS = [];
  var ROWS_HEIGHT = 0;
  var ROW_LISTENERS = [];
  function onRows(listener) {
    ROW_LISTENERS.push(listener);
  }
  function layRows() {
    ROWS = [{ kind: "cluster", top: 0, height: CLUSTER_ROW }];
    for (const lane of STORY.broker_lanes) ROWS.push({ kind: "node", lane, top: 0, height: NODE_ROW });
    STORY.lanes.clients.forEach((client, number) => {
      if (!isShown(client)) return;
      ROWS.push({ kind: "client", client, number, top: 0, height: CLIENT_ROW, conns: client.conns });
      if (VIEW.open.has(number)) for (const conn of client.conns) addConnection(client, conn);
    });
    let top = 0;
    for (const row of ROWS) {
      row.top = top;
      top += row.height;
    }
    ROWS_HEIGHT = top;
    for (const listener of ROW_LISTENERS) listener();
  }
  function addConnection(client, number) {
    if (FILTERED && !LANE_HITS[number]) return;
    ROWS.push({
      kind: "conn",
      client,
      number,
      conn: STORY.lanes.connections[number],
      top: 0,
      height: CONN_ROW,
      conns: [number]
    });
  }
  function isShown(client) {
    if (client.kind === "broker" && !VIEW.brokers && FILTER.client !== client.client_instance_id) return false;
    return findsClient(client);
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
  function rowAt(y) {
    let from = 0;
    let to = ROWS.length;
    while (from < to) {
      const middle = from + to >>> 1;
      if (ROWS[middle].top + ROWS[middle].height <= y) from = middle + 1;
      else to = middle;
    }
    return from;
  }
  function rowOfConnection(number) {
    return ROWS.findIndex((row) => row.kind === "conn" && row.number === number);
  }
  function keyOf(row) {
    return "number" in row ? row.kind + row.number : row.kind;
  }
  function bodyOf(row, top, width) {
    return row.kind === "client" ? { top: top + 14, height: 20, width } : { top: top + 3, height: 14, width };
  }

  // drawing/filter_form.ts
  var MOST_OPTIONS = 500;
  function filterForm() {
    const names = STORY.requests;
    const sorted = (list) => list.slice(2).sort().map((name) => [name, name]);
    const clients = STORY.lanes.clients.map((client) => [
      client.client_instance_id,
      `${client.name} (${words(client.kind)})`
    ]);
    const roles = [...new Set(STORY.lanes.connections.flatMap((conn) => conn.roles.map((role) => role.role)))].sort();
    const form = {
      class: "filter",
      role: "search",
      "aria-label": "Filter the timeline",
      onsubmit: (event) => event.preventDefault()
    };
    return el(
      "form",
      form,
      el("label", { class: "wide" }, "Find ", findField()),
      choice("client", "Client", clients),
      choice("group", "Group", sorted(names.groups)),
      choice("topic", "Topic", sorted(names.topics)),
      choice("api", "API", sorted(names.apis)),
      choice("error", "Error", sorted(names.errors.filter((name) => name !== "NONE"))),
      choice(
        "role",
        "Role",
        roles.map((role) => [role, words(role)])
      ),
      tick("errors", "only errors", filterInput),
      tick("brokers", "brokers’ own clients", brokersInput),
      button("Clear", clearFilter, { class: "small" }),
      el("output", { id: "filter-result" })
    );
  }
  function findField() {
    const placeholder = "client, address, topic, error, packet …";
    return el("input", { type: "search", name: "text", placeholder, oninput: filterInput });
  }
  function tick(name, text, onchange) {
    return el("label", { class: "check" }, el("input", { type: "checkbox", name, onchange }), text);
  }
  function choice(name, title, options) {
    const more2 = options.length > MOST_OPTIONS ? [el("option", { disabled: true }, `… and ${options.length - MOST_OPTIONS} more: use Find`)] : [];
    const listed = options.slice(0, MOST_OPTIONS).map(([value, text]) => el("option", { value }, text));
    return el(
      "label",
      {},
      `${title} `,
      el(
        "select",
        { name, onchange: filterInput, disabled: options.length === 0 },
        el("option", { value: "" }, "all"),
        listed,
        more2
      )
    );
  }
  function field(name) {
    return document.querySelector(`form.filter [name=${name}]`);
  }
  var pendingFilter = 0;
  function filterInput() {
    clearTimeout(pendingFilter);
    pendingFilter = window.setTimeout(takeFilter, 120);
  }
  function takeFilter() {
    for (const name of FILTER_TEXTS) FILTER[name] = field(name).value;
    FILTER.errors = field("errors").checked;
    applyFilter();
  }
  function brokersInput(event) {
    VIEW.brokers = event.target.checked;
    applyFilter();
  }
  function clearFilter() {
    for (const name of FILTER_TEXTS) FILTER[name] = "";
    FILTER.errors = false;
    showFilter();
    applyFilter();
  }
  function showFilter() {
    for (const name of FILTER_TEXTS) field(name).value = FILTER[name];
    field("errors").checked = FILTER.errors;
    field("brokers").checked = VIEW.brokers;
  }
  function setFilter(values) {
    Object.assign(FILTER, values);
    showFilter();
    applyFilter();
  }
  function applyFilter() {
    computeFilter();
    layRows();
    byId("filter-result").textContent = filterText();
    viewChanged();
  }

  // layout/table_order.ts
  var UNITS = {
    µs: 1,
    ms: 1e3,
    s: 1e6,
    min: 6e7,
    h: 36e8,
    B: 1,
    kB: 1e3,
    MB: 1e6,
    GB: 1e9,
    TB: 1e12,
    "%": 1,
    "": 1
  };
  var NUMBER = /^([-−+]?)(\d[\d,]*(?:\.\d+)?)\s?(µs|ms|s|min|h|B|kB|MB|GB|TB|%|)(?:\s(\d+)\s(min|s))?$/;
  var CLOCK = /^(-?)(?:(\d+):)?(\d\d):(\d\d(?:\.\d+)?)$/;
  var GROUPED = /^-?\d{1,3}(,\d{3})+$/;
  var PLAIN_NUMBER = /^-?\d+(\.\d+)?$/;
  var FORMULA = /^[=+\-@\t\r＝＋－＠]/u;
  var COLLATOR = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  function numberOf(text) {
    const clock2 = CLOCK.exec(text);
    if (clock2) {
      const seconds = Number(clock2[2] ?? 0) * 3600 + Number(clock2[3]) * 60 + Number(clock2[4]);
      return (clock2[1] ? -1 : 1) * seconds * UNITS.s;
    }
    const found = NUMBER.exec(text);
    if (!found) return null;
    const [, sign, digits, unit, more2, moreUnit] = found;
    const value = Number(digits.replaceAll(",", "")) * UNITS[unit] + (more2 ? Number(more2) * UNITS[moreUnit] : 0);
    return sign === "-" || sign === "−" ? -value : value;
  }
  function isNumeric(cells) {
    const filled2 = cells.filter((text) => text);
    return filled2.length > 0 && filled2.every((text) => numberOf(text) !== null);
  }
  function orderOf(cells, isDescending) {
    const places = cells.map((_, n) => n);
    const numbers = isNumeric(cells) ? cells.map(numberOf) : null;
    const compare = (a, b) => numbers ? (numbers[a] ?? 0) - (numbers[b] ?? 0) : COLLATOR.compare(cells[a], cells[b]);
    return places.sort((a, b) => {
      if (!cells[a] || !cells[b]) return Number(!cells[a]) - Number(!cells[b]) || a - b;
      return (isDescending ? -compare(a, b) : compare(a, b)) || a - b;
    });
  }
  function isWanted(row, wanted) {
    const text = wanted.trim().toLowerCase();
    return !text || row.some((cell) => cell.toLowerCase().includes(text));
  }
  function csvOf(rows) {
    return rows.map((row) => `${row.map(csvCell).join(",")}\r
`).join("");
  }
  function csvCell(text) {
    const plain = GROUPED.test(text) ? text.replaceAll(",", "") : text;
    const safe = FORMULA.test(plain) && !PLAIN_NUMBER.test(plain) ? `'${plain}` : plain;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }
  function fileName(caption) {
    const name = caption.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60).replace(/^-|-$/g, "");
    return `${name || "table"}.csv`;
  }

  // drawing/table.ts
  var LEAST_ROWS = 4;
  var LONGEST_FILTER = 200;
  var ASCENDING = "ascending";
  var DESCENDING = "descending";
  function table(caption, columns, rows, attributes = {}) {
    const body = rows.map((row) => {
      const cells = Array.isArray(row) ? row : row.cells;
      return el(
        "tr",
        Array.isArray(row) ? {} : row.attributes,
        cells.map((cell, n) => {
          const name = n === 0 ? "th" : "td";
          return el(name, { scope: n === 0 ? "row" : null, class: columns[n][1] }, cell);
        })
      );
    });
    const isSorted = (n) => body.length > 1 && body.some((row) => textOf(row.cells[n]));
    const head = el(
      "tr",
      {},
      columns.map(
        ([title, kind], n) => el("th", { scope: "col", class: kind }, title && isSorted(n) ? heading(title, n) : title)
      )
    );
    const made = el("table", attributes, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, body));
    ORDERS.set(made, body);
    const region = el("div", { class: "scrolls", role: "region", "aria-label": caption, tabindex: "0" }, made);
    return rows.length < LEAST_ROWS ? region : el("div", { class: "tabled" }, tools(made, caption), region);
  }
  var ORDERS = /* @__PURE__ */ new WeakMap();
  function heading(title, column) {
    return button(title, (event) => sort(event.currentTarget, column), { class: "sort" });
  }
  function sort(pressed, column) {
    const made = pressed.closest("table");
    const rows = ORDERS.get(made) ?? [];
    const cells = rows.map((row) => textOf(row.cells[column]));
    const cycle = isNumeric(cells) ? [DESCENDING, ASCENDING] : [ASCENDING, DESCENDING];
    const head = pressed.closest("th");
    const next = cycle[cycle.indexOf(head.getAttribute("aria-sort") ?? "") + 1];
    for (const one of made.querySelectorAll("th[aria-sort]")) one.removeAttribute("aria-sort");
    if (next) head.setAttribute("aria-sort", next);
    const order = next ? orderOf(cells, next === DESCENDING).map((place) => rows[place]) : rows;
    made.tBodies[0].append(...order);
    announce(next ? `Sorted by ${pressed.textContent}, ${next}` : "Not sorted");
  }
  function tools(made, caption) {
    const shown = el("span", { class: "quiet", role: "status" });
    const field2 = el("input", {
      type: "search",
      placeholder: "Filter",
      maxlength: LONGEST_FILTER,
      "aria-label": `Filter the table ${caption}`,
      oninput: () => filter(made, field2.value, shown)
    });
    const save = button("CSV", () => saveCsv(made, caption), {
      class: "small",
      "aria-label": `Save what is shown of the table ${caption} as CSV`
    });
    return el("div", { class: "tools" }, shown, field2, save);
  }
  function filter(made, wanted, shown) {
    const rows = [...made.tBodies[0].rows];
    for (const row of rows) row.hidden = !isWanted([...row.cells].map(textOf), wanted);
    const n = rows.filter((row) => !row.hidden).length;
    shown.textContent = n === rows.length ? "" : `${n} of ${rows.length} rows`;
  }
  function saveCsv(made, caption) {
    const rows = [...made.tBodies[0].rows].filter((row) => !row.hidden).map((row) => [...row.cells].map(textOf));
    const titles = [...made.tHead.rows[0].cells].map(textOf);
    const columns = titles.map((_, n) => n).filter((n) => titles[n] && rows.some((row) => row[n]));
    const text = csvOf([titles, ...rows].map((row) => columns.map((n) => row[n])));
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    const link = el("a", { href: address, download: fileName(caption), hidden: true });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 1e3);
  }
  function textOf(cell) {
    return (cell.textContent ?? "").trim();
  }

  // layout/scale.ts
  function xOf(ns, width) {
    return (ns - VIEW.from) / (VIEW.to - VIEW.from) * width;
  }
  function rangeOf(conn) {
    const first = REQ.firstOf[conn];
    const last = REQ.firstOf[conn + 1];
    if (first === last) return [0, 0];
    const from = lowerBound(REQ.start, VIEW.from - REQ.longest[conn], first, last);
    return [from, lowerBound(REQ.start, VIEW.to, from, last)];
  }
  function extent(from, to, width) {
    if (to < VIEW.from || from > VIEW.to) return null;
    const left2 = Math.max(-5, xOf(from, width));
    return [left2, Math.max(3, Math.min(width + 5, xOf(to, width)) - left2)];
  }
  function ticks(width) {
    const wish = (VIEW.to - VIEW.from) * 90 / width;
    const power = 10 ** Math.floor(Math.log10(wish));
    const nice = [1, 2, 5, 10].map((n) => n * power);
    const step = wish > 1e9 ? [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400].map((s) => s * 1e9).find((s) => s >= wish) ?? nice[3] : nice.find((s) => s >= wish) ?? nice[3];
    const found = [];
    for (let ns = Math.ceil(VIEW.from / step) * step; ns < VIEW.to; ns += step) found.push(ns);
    return { step, found };
  }

  // facts/bands.ts
  var BANDS = /* @__PURE__ */ new Map();
  function prepareBands() {
    for (const band of STORY.bands) {
      const number = clientPlace(band.client_instance_id);
      if (number < 0) continue;
      BANDS.set(number, [...BANDS.get(number) ?? [], { ...band, to: band.to_ns ?? END }]);
    }
  }

  // layout/bands.ts
  function bandBoxes(row, top, width) {
    const seen = (BANDS.get(row.number) || []).filter((band) => band.to >= VIEW.from && band.from_ns <= VIEW.to);
    return seen.map((band) => {
      const left2 = Math.max(-5, xOf(band.from_ns, width));
      const y = band.kind === "start" ? top + row.height - 10 : top + 2;
      return { band, box: { y, left: left2, wide: Math.max(2, Math.min(width + 5, xOf(band.to, width)) - left2) } };
    });
  }

  // drawing/ink.ts
  var INK;
  function readInk(context) {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    const families = STORY.families.map((family) => read(family.name));
    const hatched = (kind, name, strength) => canvasPattern(context, kind, read(name), "transparent", strength);
    INK = {
      families,
      patterns: STORY.families.map((family, n) => canvasPattern(context, family.pattern, families[n], read("surface"))),
      surface: read("surface"),
      ink: read("ink"),
      muted: read("muted"),
      line: read("line"),
      stripe: read("stripe"),
      error: read("error"),
      warning: read("warning"),
      good: read("good"),
      accent: read("accent"),
      start: read("start"),
      recovery: hatched("falling", "error", 0.35),
      slow: hatched("falling", "warning", 0.35),
      waiting: hatched("cross", "warning", 0.5),
      starting: hatched("rising", "start", 0.35)
    };
  }
  var STROKES = {
    rising: [
      [0, 6, 6, 0],
      [-1, 1, 1, -1],
      [5, 7, 7, 5]
    ],
    falling: [
      [0, 0, 6, 6],
      [-1, 5, 1, 7],
      [5, -1, 7, 1]
    ],
    upright: [[3, 0, 3, 6]],
    level: [[0, 3, 6, 3]],
    cross: [
      [0, 6, 6, 0],
      [0, 0, 6, 6]
    ]
  };
  function canvasPattern(context, kind, colour, gap, strength = 1) {
    if (kind === "solid") return colour;
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const brush = tile.getContext("2d");
    brush.globalAlpha = strength;
    if (gap !== "transparent") {
      brush.fillStyle = colour;
      brush.fillRect(0, 0, 6, 6);
    }
    brush.strokeStyle = brush.fillStyle = gap === "transparent" ? colour : gap;
    brush.lineWidth = 1.4;
    if (kind === "dots") brush.fillRect(2, 2, 2.4, 2.4);
    for (const [x, y, toX, toY] of STROKES[kind] || []) {
      brush.beginPath();
      brush.moveTo(x, y);
      brush.lineTo(toX, toY);
      brush.stroke();
    }
    return context.createPattern(tile, "repeat") ?? colour;
  }
  function swatch(familyNumber, size = 14) {
    const family = STORY.families[familyNumber];
    const strokes = (STROKES[family.pattern] || []).map(
      ([x, y, toX, toY]) => svg("line", { x1: x, y1: y, x2: toX, y2: toY, class: "cutout" })
    );
    if (family.pattern === "dots")
      strokes.push(svg("rect", { x: 2, y: 2, width: 2.4, height: 2.4, class: "cutout-fill" }));
    const box = { class: "swatch", width: size, height: size, viewBox: "0 0 6 6", "aria-hidden": "true" };
    return svg("svg", box, svg("rect", { width: 6, height: 6, class: `family-${family.name}` }), strokes);
  }

  // drawing/strokes.ts
  function outlined(context, [x, y, width, height], colour, line = 1) {
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  }
  var TEXT_WIDTHS = /* @__PURE__ */ new Map();
  function textWidth(context, text) {
    const known = TEXT_WIDTHS.get(text) ?? context.measureText(text).width;
    TEXT_WIDTHS.set(text, known);
    return known;
  }
  function bandText(context, text, x, { y, colour, room }) {
    const wide = textWidth(context, text);
    if (wide > room) return;
    context.fillStyle = INK.stripe;
    context.fillRect(x - 1, y, wide + 2, 10);
    context.fillStyle = colour;
    context.fillText(text, x, y + 5.5);
  }
  function hatchText(context, text, [left2, wide], { y, colour }) {
    const x = Math.max(0, left2) + 5;
    const room = left2 + wide - x - 3;
    const short = text.replace(/ \(.*\)$/, "");
    const shown = [text, short, text.split(/[:(]/)[0].trim(), text.split(" ")[0]].find(
      (one) => textWidth(context, one) <= room
    );
    if (shown) bandText(context, shown, x, { y, colour, room });
  }
  function drawError(context, x, y, height) {
    context.fillStyle = INK.error;
    context.beginPath();
    context.moveTo(x - 4, y - 4);
    context.lineTo(x + 4, y - 4);
    context.lineTo(x, y + 4);
    context.fill();
    context.fillRect(x - 0.5, y, 1, height);
  }
  function drawEnd(context, kind, x, middle) {
    const bad = kind !== "fin_client" && kind !== "fin_server";
    context.strokeStyle = bad ? INK.error : INK.muted;
    context.lineWidth = 1.6;
    context.beginPath();
    if (bad) {
      context.moveTo(x - 4, middle - 4);
      context.lineTo(x + 4, middle + 4);
      context.moveTo(x + 4, middle - 4);
      context.lineTo(x - 4, middle + 4);
    } else {
      const side = kind === "fin_server" ? 3 : -3;
      context.moveTo(x + side, middle - 5);
      context.lineTo(x, middle - 5);
      context.lineTo(x, middle + 5);
      context.lineTo(x + side, middle + 5);
    }
    context.stroke();
  }

  // drawing/bands.ts
  function drawBands(context, row, top, width) {
    const free = { start: -1, recovery: -1 };
    const placed = bandBoxes(row, top, width);
    for (const { band, box } of placed) drawBand(context, band, box, { top, height: row.height });
    for (const { band, box } of placed) if (box.wide > 24) drawSteps(context, band, { ...box, width, free });
  }
  function drawBand(context, band, { left: left2, wide }, { top, height }) {
    const start2 = band.kind === "start";
    context.fillStyle = start2 ? INK.starting : INK.recovery;
    context.fillRect(left2, start2 ? top + height / 2 : top + 1, wide, height / 2 - 2);
    context.fillStyle = start2 ? INK.start : INK.error;
    context.fillRect(left2, start2 ? top + height - 3 : top + 1, wide, 2);
  }
  function drawSteps(context, band, box) {
    const colour = band.kind === "start" ? INK.start : INK.error;
    const roomy = band.steps.length > 2 && box.wide > Math.max(500, band.steps.length * 70);
    context.fillStyle = colour;
    for (const ns of band.steps_at_ns) {
      const x = xOf(ns, box.width);
      if (x >= 0 && x <= box.width) context.fillRect(x, box.y, 1, 8);
    }
    if (!roomy) return bandTitle(context, band, Math.max(0, box.left) + 4, { ...box, colour, room: box.wide - 8 });
    return band.steps.forEach((name, n) => {
      const x = xOf(band.steps_at_ns[n], box.width);
      const next = n + 1 < band.steps.length ? xOf(band.steps_at_ns[n + 1], box.width) : box.left + box.wide;
      if (x >= 0 && x <= box.width) bandText(context, name, x + 3, { ...box, colour, room: next - x - 6 });
    });
  }
  function bandTitle(context, band, x, box) {
    if (x < box.free[band.kind]) return;
    box.free[band.kind] = x + textWidth(context, band.title) + 6;
    bandText(context, band.title, x, box);
  }

  // layout/density.ts
  var BIN = 2;
  var TROUBLE = 7;
  var SHARES = new Float32Array(8 * 4096);
  function fillShares(ranges, width) {
    const nBins = Math.min(4096, Math.ceil(width / BIN));
    SHARES.fill(0, 0, nBins * 8);
    for (const [from, to] of ranges) fillBins(from, to, nBins);
    return nBins;
  }
  function fillBins(from, to, nBins) {
    const scale = nBins / (VIEW.to - VIEW.from);
    for (let i = from; i < to; i++) {
      if (!MASK[i]) continue;
      const bin = Math.floor((REQ.start[i] - VIEW.from) * scale);
      if (bin < 0 || bin >= nBins) continue;
      SHARES[bin * 8 + STORY.requests.families[REQ.api[i]]] += REQ.weight[i];
      if (isTrouble(i)) SHARES[bin * 8 + TROUBLE] += REQ.weight[i];
    }
  }
  function countColumns(width) {
    const all = new Float64Array(width);
    const trouble = new Float64Array(width);
    const scale = width / END;
    for (let i = 0; i < REQ.n; i++) {
      if (!MASK[i]) continue;
      const x = Math.min(width - 1, Math.floor(REQ.start[i] * scale));
      all[x] += REQ.weight[i];
      if (isTrouble(i)) trouble[x] += REQ.weight[i];
    }
    return { all, trouble, mask: MASK, most: all.reduce((a, b) => Math.max(a, b), 1) };
  }

  // drawing/bars.ts
  function drawRequests(context, row, top, width) {
    const ranges = [];
    let n = 0;
    for (const conn of row.conns) {
      const [from, to] = rangeOf(conn);
      if (to > from) ranges.push([from, to]);
      n += to - from;
    }
    const box = bodyOf(row, top, width);
    if (n > Math.max(150, width / 3)) drawDensity(context, ranges, box);
    else for (const [from, to] of ranges) drawBars(context, from, to, box);
  }
  function drawBars(context, from, to, box) {
    const { top: y, height } = box;
    for (let i = from; i < to; i++) {
      if (!MASK[i] || REQ.end[i] < VIEW.from) continue;
      const x = xOf(REQ.start[i], box.width);
      const width = Math.max(2, xOf(REQ.end[i], box.width) - x);
      const family = STORY.requests.families[REQ.api[i]];
      context.fillStyle = width > 5 ? INK.patterns[family] : INK.families[family];
      context.fillRect(x, y, width, height);
      if (width > 7) outlined(context, [x, y, width, height], INK.families[family]);
      if (isTrouble(i)) drawError(context, x + (REQ.error[i] ? width : 0), y, height);
      if (i === VIEW.request) outlined(context, [x - 2, y - 2, width + 4, height + 4], INK.ink, 2);
      if (width > 60) barText(context, i, [x, y, width, height]);
    }
  }
  function barText(context, i, [x, y, width, height]) {
    const left2 = Math.max(x, 0) + 4;
    const text = apiName(i);
    const wide = textWidth(context, text);
    if (wide + 10 > x + width - left2) return;
    context.fillStyle = INK.surface;
    context.fillRect(left2 - 2, y + 1, wide + 4, height - 2);
    context.fillStyle = INK.ink;
    context.fillText(text, left2, y + height / 2 + 0.5);
  }
  function drawDensity(context, ranges, box) {
    const nBins = fillShares(ranges, box.width);
    const base = box.top + box.height;
    const tallest = box.height;
    const errors2 = [];
    for (let bin = 0; bin < nBins; bin++) {
      const at = bin * 8;
      let sum = 0;
      for (let family = 0; family < TROUBLE; family++) sum += SHARES[at + family];
      if (!sum) continue;
      if (SHARES[at + TROUBLE]) errors2.push(bin * BIN);
      drawStack(context, at, { x: bin * BIN, base, height: Math.min(tallest, 3 + Math.log2(1 + sum) * 2.2), sum });
    }
    for (const x of errors2) drawError(context, x + 1, box.top + 1, 4);
  }
  function drawStack(context, at, { x, base, height, sum }) {
    let y = base;
    for (let family = 0; family < TROUBLE; family++) {
      const share = SHARES[at + family];
      if (!share) continue;
      const tall = Math.max(1, share / sum * height);
      y -= tall;
      context.fillStyle = INK.families[family];
      context.fillRect(x, y, BIN - 0.4, tall);
    }
  }

  // drawing/signs.ts
  var OUTCOMES = {
    recovered: ["✓", "good"],
    ready: ["✓", "good"],
    committed: ["✓", "good"],
    served: ["✓", "good"],
    done: ["✓", "good"],
    still_open: ["●", "warning"],
    open: ["●", "warning"],
    cut: ["✂", "muted"],
    aborted: ["↺", "warning"],
    gave_up: ["✕", "error"],
    failed: ["✕", "error"],
    fatal: ["✕", "error"],
    fenced: ["✕", "error"],
    hanging: ["✕", "error"],
    wrong_reaction: ["!", "error"]
  };
  var CLIENTS = {
    well: ["✓", "good"],
    recovered: ["↺", "warning"],
    still_open: ["●", "warning"],
    gave_up: ["✕", "error"],
    never_served: ["✕", "error"],
    unknown: ["?", "muted"]
  };
  function outcome(name, text) {
    return signed(OUTCOMES[name ?? ""], text || words(name));
  }
  function clientOutcome(name, text) {
    return signed(CLIENTS[name], text);
  }
  function signed([sign, tone] = ["·", "muted"], text) {
    return el("span", { class: `outcome ${tone}` }, el("span", { "aria-hidden": "true" }, `${sign} `), text);
  }

  // drawing/brokers.ts
  function drawNode(context, row, top, width) {
    const middle = top + NODE_ROW / 2;
    for (const one of row.lane.serving) {
      const box = extent(one.from_ns, one.to_ns ?? END, width);
      context.fillStyle = INK.good;
      if (box) context.fillRect(box[0], middle - 1.5, box[1], 3);
    }
    for (const one of row.lane.failing) {
      const box = extent(one.from_ns, one.to_ns ?? END, width);
      if (!box) continue;
      context.fillStyle = INK.stripe;
      context.fillRect(box[0], top + 2, box[1], NODE_ROW - 5);
      context.fillStyle = one.state === "slow" ? INK.slow : INK.recovery;
      context.fillRect(box[0], top + 2, box[1], NODE_ROW - 5);
      outlined(context, [box[0], top + 2, box[1], NODE_ROW - 5], one.state === "slow" ? INK.warning : INK.error);
      hatchText(context, one.text, box, { y: top + 6, colour: one.state === "slow" ? INK.warning : INK.error });
    }
  }
  function nodeLabel(row) {
    const { label: label2, short_label, outcome: fared, in_short } = row.lane;
    return el("div", { class: "label node", title: label2 }, el("strong", {}, short_label), outcome(fared, in_short));
  }
  function brokerTable() {
    const rows = STORY.broker_lanes.flatMap(
      (lane) => lane.failing.map((one) => [lane.label, one.text, one.begun, one.ended, one.lasted])
    );
    if (!rows.length) return null;
    const columns = [["Broker"], ["State"], ["From", "num"], ["To", "num"], ["For", "num"]];
    return details(
      `Table of broker states other than serving (${rows.length})`,
      false,
      table("Broker states", columns, rows)
    );
  }

  // drawing/cluster_row.ts
  function drawCluster(context, top, width) {
    const middle = top + CLUSTER_ROW / 2;
    for (const rebalance of STORY.rebalances.listed) drawRebalance(context, rebalance, top, width);
    for (const change of STORY.topology.changes) {
      if (change.ts_ns < VIEW.from || change.ts_ns > VIEW.to) continue;
      const x = xOf(change.ts_ns, width);
      if (change.kind === "broker") drawBrokerMark(context, change, x, middle);
      else diamond(context, x, middle, change.kind.endsWith("coordinator") ? INK.families[3] : INK.accent);
    }
  }
  function drawRebalance(context, rebalance, top, width) {
    const end = rebalance.end_ns ?? END;
    const start2 = rebalance.start_ns ?? 0;
    if (end < VIEW.from || start2 > VIEW.to) return;
    const x = xOf(start2, width);
    context.fillStyle = INK.patterns[3];
    context.fillRect(x, top + CLUSTER_ROW - 7, Math.max(3, xOf(end, width) - x), 5);
  }
  function diamond(context, x, y, colour) {
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(x, y - 6);
    context.lineTo(x + 5, y);
    context.lineTo(x, y + 6);
    context.lineTo(x - 5, y);
    context.fill();
  }
  function drawBrokerMark(context, change, x, y) {
    if (change.what === "gone") return drawEnd(context, "rst_server", x, y);
    context.strokeStyle = INK.good;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 4, 0, 7);
    return context.stroke();
  }

  // facts/left_out.ts
  function leftOut() {
    const { n, n_kept, n_unplaced, stretches } = STORY.requests;
    const parts = [];
    if (n_kept < n - n_unplaced) {
      parts.push(
        `The page has ${grouped(n_kept)} of ${count(n, "request")}: ${stretches.other ? "requests" : "successful data requests and heartbeats"} of a connection that are close together are drawn as one, the slowest of them, which says how many it stands for. ${stretches.other ? "" : "All errors and all other requests are here. "}Densities count all; the tables of the dataset have each.`
      );
    }
    if (n_unplaced) parts.push(`${count(n_unplaced, "request")} are on connections that have no lane here.`);
    const lanes = STORY.lanes;
    if (lanes.connections.length < lanes.n_connections)
      parts.push(
        `${grouped(lanes.connections.length)} of ${count(lanes.n_connections, "connection")} have a lane: those with most errors and requests.`
      );
    return parts.join(" ");
  }

  // layout/nearest.ts
  function nearest(row, at, reach) {
    if (!hasRequests(row)) return -1;
    let best = -1;
    let least = reach;
    for (const conn of row.conns) {
      const [from, to] = rangeOf(conn);
      for (let i = from; i < to; i++) {
        if (!MASK[i]) continue;
        const away = Math.max(0, REQ.start[i] - at, at - REQ.end[i]) - (isTrouble(i) ? reach / 2 : 0);
        if (away < least) [best, least] = [i, away];
      }
    }
    return best;
  }
  function besideInRow(row, by) {
    const from = VIEW.request >= 0 && row.conns.includes(REQ.conn[VIEW.request]) ? REQ.start[VIEW.request] : by > 0 ? VIEW.from - 1 : VIEW.to;
    let best = -1;
    for (const conn of row.conns) {
      const near = neighbour(conn, from, by);
      if (near >= 0 && (best < 0 || (REQ.start[near] - REQ.start[best]) * by < 0)) best = near;
    }
    return best;
  }
  function neighbour(conn, ns, by) {
    const [first, last] = [REQ.firstOf[conn], REQ.firstOf[conn + 1]];
    let i = by > 0 ? lowerBound(REQ.start, ns + 0.5, first, last) : lowerBound(REQ.start, ns, first, last) - 1;
    while (i >= first && i < last && !MASK[i]) i += by;
    return i >= first && i < last ? i : -1;
  }
  function nextTrouble() {
    const from = VIEW.request >= 0 && isTrouble(VIEW.request) ? REQ.start[VIEW.request] : VIEW.from - 1;
    let best = -1;
    for (let i = 0; i < REQ.n; i++) {
      if (!MASK[i] || !isTrouble(i) || REQ.start[i] <= from) continue;
      if (!VIEW.brokers && STORY.lanes.clients[STORY.lanes.connections[REQ.conn[i]].client].kind === "broker") continue;
      if (best < 0 || REQ.start[i] < REQ.start[best]) best = i;
    }
    return best;
  }

  // facts/commands.ts
  function quoted(name) {
    return /^[\w.:/@%+=,-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
  }
  function cutCommand(option, value, file) {
    return `kafkascope cut ${quoted(STORY.capture.dataset)} ${option} ${quoted(String(value))} -o ${quoted(`${file}.pcapng`)}`;
  }

  // facts/requests.ts
  function requestLines(i) {
    const lines2 = [`${apiText(i)} · ${requestOutcome(i)}`, `${clock(REQ.start[i], 6)} · ${tookText(i)}`];
    const conn = STORY.lanes.connections[REQ.conn[i]];
    lines2.push(`${STORY.lanes.clients[conn.client].name} → ${nodeName(conn.node_id)} (${conn.to})`);
    const named = namedBy(i).map(partitionText);
    if (named.length) lines2.push(listOf(named, 3));
    const about = [STORY.requests.groups[REQ.group[i]], STORY.requests.transactional_ids[REQ.transaction[i]]].filter(
      Boolean
    );
    if (about.length) lines2.push(about.join(" · "));
    const others = REQ.weight[i] > 1 ? ` · stands for ${grouped(REQ.weight[i])}` : "";
    lines2.push(`packets ${packetsOf(i).join(" and ")}${others}`);
    return lines2;
  }
  function partitionText(named) {
    const where = named.partition >= 0 ? `${named.topic || "?"}-${named.partition}` : named.topic || "?";
    return where + (named.offset >= 0 ? ` @ ${grouped(named.offset)}` : "") + (named.error ? ` ${named.error}` : "");
  }
  function requestOutcome(i) {
    if (REQ.error[i]) return STORY.requests.errors[REQ.error[i]];
    return STATUSES[REQ.status[i]];
  }
  function tookText(i) {
    if (REQ.latency[i] !== NO_TIME) return `answered after ${span(REQ.latency[i])}`;
    return REQ.status[i] === 1 ? "no answer expected" : "no answer";
  }
  function requestFields(i) {
    const conn = STORY.lanes.connections[REQ.conn[i]];
    const client = STORY.lanes.clients[conn.client];
    const names = STORY.requests;
    const given = (value, text) => value ? text ?? value : null;
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
      ["Stands for", REQ.weight[i] > 1 ? `${count(REQ.weight[i], "request")} like it nearby` : null]
    ].filter(([, value]) => value !== null && value !== void 0);
  }
  function packetText(i) {
    const files = STORY.capture.files;
    const name = files.length > 1 && files[REQ.capture[i]] ? ` of ${files[REQ.capture[i]].path}` : "";
    return `${packetsOf(i).join(" (request), ")}${packetsOf(i).length > 1 ? " (answer)" : ""}${name}`;
  }

  // drawing/stage.ts
  var TIMELINE = {};
  function sized(canvas, width, height) {
    canvas.width = Math.round(width * TIMELINE.ratio);
    canvas.height = Math.round(height * TIMELINE.ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.setTransform(TIMELINE.ratio, 0, 0, TIMELINE.ratio, 0, 0);
    context.font = "10px system-ui, sans-serif";
    context.textBaseline = "middle";
    return context;
  }
  function scrollTo(row) {
    if (row) TIMELINE.scroller.scrollTop = Math.max(0, row.top - TIMELINE.height / 2);
  }

  // drawing/reveal.ts
  function select(i) {
    VIEW.request = i;
    if (REQ.start[i] < VIEW.from || REQ.start[i] > VIEW.to) centre(REQ.start[i]);
    announce(requestLines(i).join(", "));
    viewChanged();
  }
  function reveal(i) {
    const conn = REQ.conn[i];
    const { client } = STORY.lanes.connections[conn];
    if (STORY.lanes.clients[client].kind === "broker") VIEW.brokers = true;
    VIEW.open.add(client);
    if (!MASK[i]) clearFilter();
    showFilter();
    layRows();
    scrollTo(ROWS[rowOfConnection(conn)]);
    const took = REQ.end[i] - REQ.start[i];
    const length = Math.min(VIEW.to - VIEW.from, Math.max(took * 6, END / 50, 1e8));
    setView(REQ.start[i] - length / 3, REQ.start[i] + 2 * length / 3);
  }
  function showAt(id, from, to) {
    showStretch(from, to);
    jump(id);
  }

  // drawing/panel.ts
  var PANEL = { opener: null };
  function requestPanel(showClient2) {
    PANEL.showClient = showClient2;
    return el("aside", { id: "panel", hidden: true, tabindex: "-1", "aria-labelledby": "panel-title" });
  }
  function openRequest(i) {
    VIEW.request = i;
    const panel = byId("panel");
    const id = requestId(i);
    replace(
      panel,
      el(
        "div",
        { class: "bar" },
        el("h2", { id: "panel-title" }, apiText(i)),
        button("Close", closePanel, { class: "small" })
      ),
      el("p", {}, outcome(isTrouble(i) ? "fatal" : "recovered", requestOutcome(i))),
      el(
        "dl",
        {},
        requestFields(i).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])
      ),
      namedBy(i).length ? el(
        "p",
        {},
        `Topic-partitions: ${namedBy(i).map(partitionText).join(", ")}${REQ.n_partitions[i] > namedBy(i).length ? " …" : ""}`
      ) : null,
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
          { class: "small" }
        ),
        button("This client", () => PANEL.showClient(STORY.lanes.connections[REQ.conn[i]].client, true), {
          class: "small"
        })
      )
    );
    if (panel.hidden) PANEL.opener = document.activeElement;
    panel.hidden = false;
    announce(requestLines(i).join(", "));
    viewChanged();
  }
  function closePanel() {
    byId("panel").hidden = true;
    VIEW.request = -1;
    PANEL.opener?.focus?.();
    viewChanged();
  }
  function beside(by) {
    const i = VIEW.request + by;
    if (i < 0 || i >= REQ.n || REQ.conn[i] !== REQ.conn[VIEW.request])
      return announce("No further request on this connection");
    select(i);
    return openRequest(i);
  }

  // drawing/next_error.ts
  function nextError() {
    const i = nextTrouble();
    if (i < 0) return announce("No further error");
    reveal(i);
    return openRequest(i);
  }

  // drawing/controls.ts
  function legend() {
    const families = STORY.families.map((family, n) => el("li", {}, swatch(n), family.title));
    const marks = [
      ["▼", "error or no answer", "error"],
      ["✕", "reset, refused, unanswered", "error"],
      ["⊐", "closed: server, client (⊏)", "muted"],
      ["◆", "leader or coordinator moved", "accent"],
      ["▨", "start", "start"],
      ["▧", "recovery; broker that does not serve", "error"],
      ["▦", "wait of a client that stalled", "warning"]
    ];
    return el(
      "ul",
      { class: "legend", "aria-label": "Legend" },
      families,
      marks.map(
        ([sign, text, tone]) => el("li", {}, el("span", { class: `sign ${tone}`, "aria-hidden": "true" }, sign), text)
      )
    );
  }
  function zoomButtons() {
    const middle = () => (VIEW.from + VIEW.to) / 2;
    const extra = { class: "small" };
    return el(
      "div",
      { class: "zoom", role: "group", "aria-label": "Zoom and move" },
      button("◂ Earlier", () => pan(-0.5), extra),
      button("Later ▸", () => pan(0.5), extra),
      button("+ Zoom in", () => zoom(0.5, middle()), extra),
      button("− Zoom out", () => zoom(2, middle()), extra),
      button("Whole capture", () => setView(0, END), extra),
      button("Next error", () => nextError(), extra),
      button("Open all", () => openAll(true), extra),
      button("Close all", () => openAll(false), extra)
    );
  }
  function timelineKeys() {
    return el(
      "p",
      { class: "hint", id: "timeline-keys" },
      "Drag to move; Ctrl + wheel or pinch to zoom (after a click into the timeline the wheel alone); Shift + drag to zoom into a stretch. Keys: ← → move, + − zoom, 0 all, ↑ ↓ row, N P next and previous request in the row, Enter shows it, O opens the client, E next error."
    );
  }
  function thinned() {
    const text = leftOut();
    return text ? el("p", { class: "hint", id: "thinned" }, text) : null;
  }

  // drawing/ends.ts
  function drawEnds(context, row, top, width) {
    const body = bodyOf(row, top, width);
    const middle = body.top + body.height / 2;
    for (const number of row.conns) {
      const conn = STORY.lanes.connections[number];
      if (row.kind === "conn") drawLife(context, conn, middle, width);
      const at = conn.close_ns ?? (["refused", "unanswered"].includes(conn.close_kind ?? "") ? conn.last_ns : null);
      if (at === null || at < VIEW.from || at > VIEW.to || conn.close_kind === "open") continue;
      if (row.kind === "conn" || conn.close_kind !== "fin_client")
        drawEnd(context, conn.close_kind, xOf(at, width), middle);
    }
  }
  function drawLife(context, conn, middle, width) {
    const from = Math.max(0, xOf(conn.first_ns, width));
    const to = Math.min(width, xOf(conn.last_ns, width));
    if (to <= from) return;
    context.fillStyle = INK.line;
    context.fillRect(from, middle - 0.5, to - from, 1);
  }

  // layout/in_view.ts
  var MOST_IN_VIEW = 100;
  function requestsInView() {
    const found = [];
    let n = 0;
    let nTrouble = 0;
    for (const row of ROWS) {
      for (const conn of row.kind === "client" ? row.conns : []) {
        const [from, to] = rangeOf(conn);
        for (let i = from; i < to; i++) {
          if (!MASK[i] || REQ.end[i] < VIEW.from) continue;
          n += REQ.weight[i];
          nTrouble += isTrouble(i) ? REQ.weight[i] : 0;
          found.push(i);
        }
      }
    }
    found.sort((a, b) => Number(isTrouble(b)) - Number(isTrouble(a)) || REQ.start[a] - REQ.start[b]);
    return { listed: found.slice(0, MOST_IN_VIEW), n, nTrouble };
  }

  // drawing/in_view.ts
  var IN_VIEW = {};
  function inView() {
    IN_VIEW.body = el("div", {});
    IN_VIEW.box = details("Table of what is in view", false, IN_VIEW.body);
    IN_VIEW.box.id = "in-view";
    IN_VIEW.box.addEventListener("toggle", writeInView);
    return IN_VIEW.box;
  }
  var pendingTable = 0;
  function inViewLater() {
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
      [""]
    ];
    const rows = listed.map(requestRow);
    const more2 = n > listed.length ? ` The table has the first ${listed.length}; zoom in or filter for the others.` : "";
    replace(
      IN_VIEW.body,
      el(
        "p",
        {},
        `${count(n, "request")} from ${clock(VIEW.from)} to ${clock(VIEW.to)}, ${grouped(nTrouble)} in trouble (listed first).${more2}`
      ),
      cutLine(),
      table("Requests in view", columns, rows)
    );
  }
  function cutLine() {
    const since = (ns) => `+${(ns / 1e9).toFixed(6)}s`;
    return el(
      "p",
      {},
      "All packets of this stretch: ",
      command(
        `kafkascope cut ${quoted(STORY.capture.dataset)} --from ${since(VIEW.from)} --to ${since(VIEW.to)} -o view.pcapng`
      )
    );
  }
  function requestRow(i) {
    const conn = STORY.lanes.connections[REQ.conn[i]];
    const about = [
      ...namedBy(i).map(partitionText),
      STORY.requests.groups[REQ.group[i]],
      STORY.requests.transactional_ids[REQ.transaction[i]]
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
      button("Show", () => openRequest(i), { class: "small", "aria-label": `Show request ${requestId(i)}` })
    ];
  }

  // drawing/labels.ts
  function labelOf(row) {
    if (row.kind === "cluster")
      return el(
        "div",
        { class: "label cluster" },
        el("strong", {}, "Cluster"),
        el("span", {}, "leaders, coordinators, brokers")
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
      el("span", { class: "what" }, roles)
    );
  }
  function clientLabel(row) {
    const { client, number } = row;
    const open = VIEW.open.has(number);
    const toggle = button(
      [el("span", { class: "arrow", "aria-hidden": "true" }, open ? "▾" : "▸"), el("strong", {}, client.name)],
      () => toggleClient(number),
      { class: "toggle", "aria-expanded": String(open), title: `${client.name} at ${client.client_ip}` }
    );
    return el("div", { class: "label client" }, toggle, el("span", { class: "what" }, client.what));
  }

  // drawing/minimap.ts
  var MAP_HEIGHT = 44;
  var MAP = { counts: null, grip: null };
  function minimap() {
    MAP.canvas = el("canvas", { class: "minimap", "aria-hidden": "true" });
    MAP.canvas.addEventListener("pointerdown", mapDown);
    MAP.canvas.addEventListener("pointermove", mapMove);
    MAP.canvas.addEventListener("pointerup", () => MAP.grip = null);
    return el("div", { class: "map" }, MAP.canvas);
  }
  function resizedMinimap() {
    MAP.width = TIMELINE.width;
    MAP.context = sized(MAP.canvas, MAP.width, MAP_HEIGHT);
    MAP.counts = null;
  }
  function countMap() {
    MAP.counts = countColumns(MAP.width);
    MAP.picture = document.createElement("canvas");
    MAP.picture.width = MAP.canvas.width;
    MAP.picture.height = MAP.canvas.height;
    const context = MAP.picture.getContext("2d");
    context.setTransform(TIMELINE.ratio, 0, 0, TIMELINE.ratio, 0, 0);
    paintMap(context);
  }
  function paintMap(context) {
    const { all, trouble, most } = MAP.counts;
    context.fillStyle = INK.stripe;
    context.fillRect(0, 0, MAP.width, MAP_HEIGHT);
    for (const bands of BANDS.values()) {
      context.fillStyle = INK.recovery;
      for (const band of bands.filter((one) => one.kind === "recovery"))
        context.fillRect(
          band.from_ns / END * MAP.width,
          0,
          Math.max(1, (band.to - band.from_ns) / END * MAP.width),
          5
        );
    }
    for (let x = 0; x < MAP.width; x++) {
      if (!all[x]) continue;
      const tall = 2 + Math.log1p(all[x]) / Math.log1p(most) * (MAP_HEIGHT - 14);
      context.fillStyle = INK.muted;
      context.fillRect(x, MAP_HEIGHT - tall, 1, tall);
      if (trouble[x]) drawError(context, x, 8, 4);
    }
  }
  function drawMinimap() {
    if (!MAP.counts || MAP.counts.mask !== MASK) countMap();
    const { context } = MAP;
    context.clearRect(0, 0, MAP.width, MAP_HEIGHT);
    context.drawImage(MAP.picture, 0, 0, MAP.width, MAP_HEIGHT);
    const from = VIEW.from / END * MAP.width;
    const wide = Math.max(3, (VIEW.to - VIEW.from) / END * MAP.width);
    context.fillStyle = INK.surface;
    context.globalAlpha = 0.6;
    context.fillRect(0, 0, from, MAP_HEIGHT);
    context.fillRect(from + wide, 0, MAP.width - from - wide, MAP_HEIGHT);
    context.globalAlpha = 1;
    outlined(context, [from, 0, wide, MAP_HEIGHT], INK.accent, 2);
  }
  function mapTime(event) {
    return (event.clientX - MAP.canvas.getBoundingClientRect().left) / MAP.width * END;
  }
  function mapDown(event) {
    const at = mapTime(event);
    MAP.canvas.setPointerCapture(event.pointerId);
    if (at < VIEW.from || at > VIEW.to) centre(at);
    MAP.grip = at - VIEW.from;
  }
  function mapMove(event) {
    if (MAP.grip === null || MAP.grip === void 0) return;
    const from = mapTime(event) - MAP.grip;
    setView(from, from + VIEW.to - VIEW.from);
  }

  // layout/rates.ts
  function boxOf(slot, width) {
    if (slot.to_ns <= VIEW.from || slot.from_ns >= VIEW.to) return null;
    const x = Math.max(0, xOf(slot.from_ns, width));
    return { x, width: Math.max(1, Math.min(width, xOf(slot.to_ns, width)) - x - 0.6) };
  }
  function heightOf(value, most, tallest) {
    return Math.max(1.5, Math.sqrt(value / most) * tallest);
  }
  function slotAt(slots, ns) {
    return Math.max(
      0,
      slots.findLastIndex((slot) => slot.from_ns <= ns)
    );
  }

  // drawing/tip.ts
  var TIP = {};
  function tipBox() {
    TIP.box = el("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    return TIP.box;
  }
  function showTip(lines2, clientX, clientY) {
    const tip = TIP.box;
    replace(
      tip,
      lines2.map((line, n) => el(n ? "div" : "strong", {}, line))
    );
    tip.hidden = false;
    const box = tip.parentElement.getBoundingClientRect();
    const left2 = Math.min(clientX - box.left + 14, box.width - tip.offsetWidth - 4);
    tip.style.left = `${Math.max(0, left2)}px`;
    tip.style.top = `${clientY - box.top + 16}px`;
  }
  function hideTip() {
    TIP.box.hidden = true;
  }

  // drawing/rates.ts
  var ROW = 34;
  var LATENCY = 14;
  var KEYS_TEXT = "Keys: ← → slot, ↑ ↓ group. Heights grow with the square root.";
  var RATES = { row: 0, slot: 0 };
  function ratesStrip() {
    const { families, slot_text } = STORY.request_rates;
    if (!families.length) return null;
    RATES.canvas = el("canvas", {
      class: "rates",
      tabindex: "0",
      role: "application",
      "aria-label": `Requests a second and latency by API group, in slots of ${slot_text}. ${KEYS_TEXT}`,
      onpointermove: pointed,
      onpointerleave: hideTip,
      onkeydown: keyed,
      onfocus: viewChanged,
      onblur: left
    });
    const labels = families.map(
      (one) => el(
        "div",
        { class: "label rate", title: `${one.title}: ${one.text}` },
        el("span", { class: "row-title" }, swatch(familyOf(one)), el("strong", {}, one.short_title)),
        el("span", { class: "what" }, one.text)
      )
    );
    return el("div", { class: "rates" }, el("div", { class: "rate-labels" }, labels), RATES.canvas);
  }
  function ratesTable() {
    const { families, slot_text } = STORY.request_rates;
    if (!families.length) return null;
    const made = details("Table of requests and latency by API group", false);
    made.id = "rates-table";
    const columns = [["API group"], ["Time"], ["Requests", "num"], ["Failed", "num"], ["Rate and latency"]];
    return filledWhenOpen(made, () => {
      const rows = families.flatMap(
        (one) => one.slots.map((slot) => [one.short_title, slot.when, grouped(slot.n), slot.n_failed || "", slot.text])
      );
      const about = `By the time at which they were sent, in slots of ${slot_text}. `;
      return [
        hint(
          about,
          "p99 is of those that were answered; Fetch waits for records on purpose, JoinGroup for other members."
        ),
        table("Requests and latency by API group", columns, rows)
      ];
    });
  }
  function left() {
    hideTip();
    viewChanged();
  }
  function familyOf(one) {
    return STORY.families.findIndex((family) => family.name === one.family);
  }
  function resizedRates() {
    if (RATES.canvas) RATES.context = sized(RATES.canvas, TIMELINE.width, ROW * STORY.request_rates.families.length);
  }
  function drawRates() {
    if (!RATES.canvas) return;
    const { families } = STORY.request_rates;
    RATES.context.clearRect(0, 0, TIMELINE.width, ROW * families.length);
    for (const [n, one] of families.entries()) drawFamily(one, n * ROW);
    if (document.activeElement === RATES.canvas) drawChosen();
  }
  function drawFamily(one, top) {
    const { context } = RATES;
    const family = familyOf(one);
    const base = top + ROW - 2;
    context.fillStyle = INK.line;
    context.fillRect(0, top + ROW - 1, TIMELINE.width, 1);
    for (const slot of one.slots) {
      const box = boxOf(slot, TIMELINE.width);
      if (!box) continue;
      const tall = heightOf(slot.per_second, one.most_per_second, ROW - LATENCY - 4);
      context.fillStyle = box.width > 5 ? INK.patterns[family] : INK.families[family];
      context.fillRect(box.x, base - tall, box.width, tall);
      drawLatency(slot, box, top + LATENCY + 1, one.most_p99_ms ?? 1);
      if (slot.n_failed) drawError(context, box.x + box.width / 2, top + 5, LATENCY - 4);
    }
  }
  function drawLatency(slot, box, base, mostMs) {
    if (slot.p99_ms === null) return;
    const tall = heightOf(slot.p99_ms, mostMs, LATENCY - 2);
    const { context } = RATES;
    context.fillStyle = INK.muted;
    context.globalAlpha = 0.4;
    context.fillRect(box.x, base - tall, box.width, tall);
    context.globalAlpha = 1;
    context.fillStyle = INK.ink;
    context.fillRect(box.x, base - tall, box.width, 1.5);
  }
  function drawChosen() {
    const box = boxOf(chosen(), TIMELINE.width);
    if (!box) return;
    RATES.context.strokeStyle = INK.accent;
    RATES.context.lineWidth = 2;
    RATES.context.strokeRect(box.x, RATES.row * ROW + 1, Math.max(3, box.width), ROW - 3);
  }
  function chosen() {
    const { slots } = STORY.request_rates.families[RATES.row];
    return slots[Math.min(RATES.slot, slots.length - 1)];
  }
  function linesOf(one, slot) {
    return [one.title, slot.when, slot.text];
  }
  function pointed(event) {
    const frame = RATES.canvas.getBoundingClientRect();
    const one = STORY.request_rates.families[Math.floor((event.clientY - frame.top) / ROW)];
    const at = VIEW.from + (event.clientX - frame.left) / TIMELINE.width * (VIEW.to - VIEW.from);
    const slot = one?.slots.find(({ from_ns, to_ns }) => from_ns <= at && at < to_ns);
    if (!slot) return hideTip();
    return showTip(linesOf(one, slot), event.clientX, event.clientY);
  }
  var STEPS = {
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0]
  };
  function keyed(event) {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const { families } = STORY.request_rates;
    const at = chosen().from_ns;
    RATES.row = Math.max(0, Math.min(families.length - 1, RATES.row + step[0]));
    const { slots } = families[RATES.row];
    const same = slotAt(slots, at);
    RATES.slot = Math.max(0, Math.min(slots.length - 1, same + step[1]));
    const one = families[RATES.row];
    announce(linesOf(one, chosen()).join(", "));
    const frame = RATES.canvas.getBoundingClientRect();
    const x = Math.max(0, Math.min(TIMELINE.width, xOf(chosen().from_ns, TIMELINE.width)));
    showTip(linesOf(one, chosen()), frame.left + x, frame.top + (RATES.row + 1) * ROW - 12);
    viewChanged();
  }

  // facts/waits.ts
  var WAITS = /* @__PURE__ */ new Map();
  function prepareWaits() {
    for (const wait of STORY.stalls) {
      const number = clientPlace(wait.client_instance_id ?? "");
      if (number < 0) continue;
      const mine = WAITS.get(number) ?? [];
      WAITS.set(number, [...mine, { ...wait, from: wait.from_ns, to: wait.to_ns ?? END }]);
    }
  }
  function joined(waits) {
    const made = [];
    for (const wait of waits) {
      const last = made.at(-1);
      if (!last || wait.from > last.to) {
        made.push({ from: wait.from, to: wait.to, text: wait.text, most: wait.to - wait.from });
        continue;
      }
      last.to = Math.max(last.to, wait.to);
      if (wait.to - wait.from > last.most) Object.assign(last, { text: wait.text, most: wait.to - wait.from });
    }
    return made;
  }
  function waitsAt(number, at) {
    const found = (WAITS.get(number) || []).filter((wait) => wait.from <= at && at <= wait.to).slice(0, 4);
    return found.map((wait) => `${clock(wait.from)} ${wait.text}`);
  }
  function nodeText(lane, at) {
    const found = [...lane.failing, ...lane.serving].filter((one) => one.from_ns <= at && at <= (one.to_ns ?? END));
    return found.length ? [lane.label, ...found.map(stretchText)] : [lane.label, "nobody waited for anything"];
  }
  function stretchText(one) {
    return `${one.text}, ${one.begun} to ${one.ended}`;
  }

  // layout/waits.ts
  function waitBoxes(row, width) {
    const mine = (WAITS.get(row.kind === "conn" ? row.conn.client : row.number) || []).filter(
      (wait) => row.kind !== "conn" || wait.node_id === row.conn.node_id
    );
    return joined(mine).flatMap(({ from, to, text }) => {
      const box = extent(from, to, width);
      return box ? [{ box, text }] : [];
    });
  }

  // drawing/waits.ts
  function drawWaits(context, row, top, width) {
    const body = bodyOf(row, top, width);
    const drawn = waitBoxes(row, width);
    for (const { box } of drawn) {
      context.globalAlpha = 0.8;
      context.fillStyle = INK.surface;
      context.fillRect(box[0], body.top, box[1], body.height);
      context.globalAlpha = 1;
      context.fillStyle = INK.waiting;
      context.fillRect(box[0], body.top, box[1], body.height);
      outlined(context, [box[0], body.top, box[1], body.height], INK.warning);
    }
    const y = body.top + body.height / 2 - 5;
    for (const { box, text } of drawn) hatchText(context, text, box, { y, colour: INK.warning });
  }

  // drawing/timeline.ts
  var RULER = 26;
  var LABELS_WIDTH = 250;
  function timelineSection() {
    TIMELINE.canvas = el("canvas", {
      class: "lanes",
      tabindex: "0",
      role: "application",
      "aria-label": "Timeline of requests by client and connection",
      "aria-describedby": "timeline-keys"
    });
    TIMELINE.labels = el("div", { class: "labels" });
    TIMELINE.ruler = el("canvas", { class: "ruler", "aria-hidden": "true" });
    TIMELINE.sticky = el("div", { class: "sticky" }, TIMELINE.labels, TIMELINE.canvas);
    TIMELINE.spacer = el("div", { class: "spacer" }, TIMELINE.sticky);
    TIMELINE.scroller = el("div", { class: "scroller", onscroll: scrolled }, TIMELINE.spacer);
    onRows(rowsChanged);
    const box = el(
      "div",
      { class: "timeline" },
      minimap(),
      el("div", { class: "head" }, el("div", { class: "when", id: "when" }), TIMELINE.ruler),
      ratesStrip(),
      TIMELINE.scroller,
      tipBox()
    );
    return section(
      "timeline",
      "Timeline",
      isNarrow() ? details("Filter", false, filterForm()) : filterForm(),
      isNarrow() ? details("Legend", false, legend()) : legend(),
      zoomButtons(),
      box,
      timelineKeys(),
      thinned(),
      ratesTable(),
      brokerTable(),
      inView()
    );
  }
  function rowsChanged() {
    TIMELINE.labelled = null;
    const seen = Math.min(window.innerHeight * 0.68, 760, ROWS_HEIGHT + 2);
    TIMELINE.height = Math.max(120, Math.round(seen));
    TIMELINE.scroller.style.height = `${TIMELINE.height}px`;
    TIMELINE.sticky.style.height = `${TIMELINE.height}px`;
    TIMELINE.spacer.style.height = `${Math.max(ROWS_HEIGHT, TIMELINE.height)}px`;
  }
  function scrolled() {
    hideTip();
    viewChanged();
  }
  function resized() {
    TIMELINE.labelsWidth = isNarrow() ? 130 : LABELS_WIDTH;
    document.documentElement.style.setProperty("--labels", `${TIMELINE.labelsWidth}px`);
    TIMELINE.width = Math.max(100, TIMELINE.scroller.clientWidth - TIMELINE.labelsWidth);
    rowsChanged();
    TIMELINE.ratio = Math.min(2, window.devicePixelRatio || 1);
    TIMELINE.context = sized(TIMELINE.canvas, TIMELINE.width, TIMELINE.height);
    TIMELINE.rulerContext = sized(TIMELINE.ruler, TIMELINE.width, RULER);
    readInk(TIMELINE.context);
    resizedMinimap();
    resizedRates();
    viewChanged();
  }
  function drawTimeline() {
    const { context, width, height } = TIMELINE;
    if (TIMELINE.canvas.height !== Math.round(height * TIMELINE.ratio)) sized(TIMELINE.canvas, width, height);
    const scroll = TIMELINE.scroller.scrollTop;
    context.clearRect(0, 0, width, height);
    const first = rowAt(scroll);
    for (let n = first; n < ROWS.length && ROWS[n].top < scroll + height; n++)
      drawRow(context, ROWS[n], ROWS[n].top - scroll, n);
    drawRuler();
    drawLabels(first, scroll);
  }
  function drawRow(context, row, top, n) {
    const { width } = TIMELINE;
    context.fillStyle = row.kind === "conn" ? INK.surface : INK.stripe;
    context.fillRect(0, top, width, row.height - 1);
    if (n === TIMELINE.cursor && document.activeElement === TIMELINE.canvas)
      outlined(context, [0, top, width, row.height - 1], INK.accent, 2);
    drawGrid(context, top, row.height);
    if (row.kind === "cluster") return drawCluster(context, top, width);
    if (row.kind === "node") return drawNode(context, row, top, width);
    if (row.kind === "client") drawBands(context, row, top, width);
    drawEnds(context, row, top, width);
    drawRequests(context, row, top, width);
    return drawWaits(context, row, top, width);
  }
  function drawGrid(context, top, height) {
    context.fillStyle = INK.line;
    for (const ns of ticks(TIMELINE.width).found)
      context.fillRect(Math.round(xOf(ns, TIMELINE.width)), top, 1, height - 1);
  }
  function drawRuler() {
    const context = TIMELINE.rulerContext;
    context.clearRect(0, 0, TIMELINE.width, RULER);
    const { step, found } = ticks(TIMELINE.width);
    const digits = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(step))));
    context.fillStyle = INK.muted;
    for (const ns of found) {
      const x = Math.round(xOf(ns, TIMELINE.width));
      context.fillRect(x, RULER - 7, 1, 7);
      context.fillText(clock(ns, step >= 1e9 ? 0 : digits), x + 4, RULER / 2);
    }
    byId("when").textContent = `${clock(VIEW.from)} – ${clock(VIEW.to)} (${span((VIEW.to - VIEW.from) / 1e3)})`;
  }
  function drawLabels(first, scroll) {
    const state = `${scroll}:${TIMELINE.height}`;
    if (TIMELINE.labelled === state) return;
    TIMELINE.labelled = state;
    const focused = document.activeElement?.closest(".label")?.dataset.row;
    const made = [];
    for (let n = first; n < ROWS.length && ROWS[n].top < scroll + TIMELINE.height; n++) {
      const label2 = labelOf(ROWS[n]);
      label2.style.top = `${ROWS[n].top - scroll}px`;
      label2.style.height = `${ROWS[n].height - 1}px`;
      label2.dataset.row = keyOf(ROWS[n]);
      made.push(label2);
    }
    replace(TIMELINE.labels, made);
    if (focused)
      made.find((label2) => label2.dataset.row === focused)?.querySelector("button")?.focus();
  }

  // drawing/capture.ts
  function pageHead() {
    const { title, facts } = STORY.capture;
    return el(
      "header",
      {},
      brand(title, "kafkascope report"),
      el(
        "p",
        { class: "facts" },
        facts.map((fact) => el("span", {}, fact))
      ),
      el(
        "p",
        { class: "hint" },
        "Times are minutes, seconds and milliseconds after the capture’s start; times of day are UTC."
      )
    );
  }
  function navigation() {
    const places = [
      ["happened", "What happened"],
      ["timeline", "Timeline"],
      ...isNarrow() ? [["incidents", "Incidents"]] : [],
      ["clients", "Clients"],
      ["cluster", "Cluster"],
      ["groups", "Groups"],
      ["transactions", "Transactions"],
      ["flow", "Topics"],
      ["latency", "Latency and load"],
      ["service", "Service levels"],
      ["capture", "Capture"]
    ];
    const go = (id) => (event) => {
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
      button("Light / dark", switchTheme, { class: "small theme" })
    );
  }
  function switchTheme() {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    resized();
  }
  function captureSection() {
    return section(
      "capture",
      "Capture",
      filesTable(),
      brokersTable(),
      errorsTable(),
      unreadTable(),
      hint("`kafkascope report` prints the same in a terminal; the tables of the dataset have every row.")
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
      ["To", "num"]
    ];
    const rows = STORY.capture.files.map((file) => [
      file.path,
      file.format,
      grouped(file.n_packets ?? 0),
      file.n_truncated ?? 0,
      file.n_dropped ?? "not known",
      bytes(file.size_bytes ?? 0),
      clock(file.first_ns),
      clock(file.last_ns)
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
      ["Errors", "num"]
    ];
    const rows = STORY.cluster.brokers.map((broker) => [
      nodeName(broker.node_id),
      broker.addresses.join(", "),
      broker.advertised.join(", "),
      broker.rack ?? "",
      broker.n_connections,
      figure(broker.n_requests),
      figure(broker.n_errors)
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
        { class: "small", "aria-label": `Show ${kind.error_name} in the timeline` }
      )
    ]);
    return rows.length ? table("Errors in the brokers’ answers", columns, rows) : hint("No broker answered with an error.");
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
        STORY.capture.unread.map((text) => el("li", {}, text))
      )
    ];
  }

  // facts/connections.ts
  function packetsOfEnd(n) {
    const { conn, event, packet_no } = STORY.lanes.events;
    const found = [];
    for (let k = 0; k < conn.length && found.length < 3; k++)
      if (conn[k] === n && event[k] !== "gap") found.push(`${words(event[k])} in packet ${packet_no[k]}`);
    return found.length ? `(${found.join(", ")})` : "";
  }

  // drawing/evidence.ts
  function evidenceRow(id) {
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
      packets.join(", ")
    ];
  }
  var EVIDENCE_COLUMNS = [
    ["Request"],
    ["Time", "num"],
    ["API"],
    ["Broker"],
    ["Latency", "num"],
    ["Outcome"],
    ["Packets", "num"]
  ];
  function evidenceTable(ids, title) {
    const requests = ids.filter((id) => STORY.evidence[id]);
    const conns = [...new Set(ids.filter((id) => !STORY.evidence[id]))].map((id) => connectionPlace(id)).filter((n) => n >= 0);
    return [requests.length ? table(title, EVIDENCE_COLUMNS, requests.map(evidenceRow)) : null, connectionList(conns)];
  }
  function connectionList(conns) {
    if (!conns.length) return null;
    return el(
      "ul",
      { class: "plain" },
      conns.map((n) => {
        const conn = STORY.lanes.connections[n];
        const ended = conn.close_kind ? `, ended ${words(conn.close_kind)} at ${clock(conn.close_ns ?? conn.last_ns)}` : "";
        return el(
          "li",
          {},
          button(`${conn.from} → ${conn.to}`, () => showConnection(n), { class: "link" }),
          `${ended} `,
          packetsOfEnd(n)
        );
      })
    );
  }
  function openEvidence(id) {
    const i = findRequest(id);
    if (i >= 0) {
      reveal(i);
      openRequest(i);
      return jump("timeline");
    }
    const request = STORY.evidence[id];
    if (request) showAt("timeline", request.ts_ns - 5e7, request.ts_ns + 5e7);
    return void 0;
  }
  function showConnection(n) {
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
  function packetLinks(ids) {
    return (ids || []).filter((id) => id !== null && id in STORY.evidence).map((id) => {
      const { request_packet_no, response_packet_no } = STORY.evidence[id];
      const text = [request_packet_no, response_packet_no].filter((packet) => packet).join(", ");
      return [button(text || id, () => openEvidence(id), { class: "link", "aria-label": `Show request ${id}` }), " "];
    });
  }

  // layout/sequence.ts
  var SEQUENCE_LINE = 24;
  function lifelines(episode, steps2) {
    const old = steps2.some((step) => step.step === "hint") && episode.old_node_id !== null ? [episode.old_node_id] : [];
    const last = (node) => node ?? Number.MAX_SAFE_INTEGER;
    const nodes = [.../* @__PURE__ */ new Set([...old, ...steps2.map((step) => step.node_id)])].sort((a, b) => last(a) - last(b));
    const apart = Math.min(230, 560 / Math.max(1, nodes.length));
    return { nodes, x: (node) => 330 + (nodes.indexOf(node) + 0.6) * apart, client: 170 };
  }
  function mergedSteps(steps2) {
    const made = [];
    for (const step of steps2) {
      const last = made.at(-1);
      const same = last && last.step.step === step.step && last.step.node_id === step.node_id && last.step.error_name === step.error_name;
      if (same) last.n += 1;
      else made.push({ step, n: 1 });
    }
    return made;
  }
  function placedSteps(episode, steps2) {
    let y = 46;
    let before = episode.start_ns ?? 0;
    const placed = mergedSteps(steps2).map(({ step, n }) => {
      y += SEQUENCE_LINE + Math.min(26, Math.max(0, Math.log10(Math.max(1, ((step.ts_ns ?? before) - before) / 1e5)) * 5));
      before = step.ts_ns ?? before;
      return { step, n, y };
    });
    return { placed, height: y + 24 };
  }

  // drawing/sequence.ts
  function episodeBlock(episode) {
    const start2 = episode.start_ns ?? 0;
    const head = el(
      "h4",
      { id: `episode-${episode.recovery_id}`, tabindex: "-1" },
      `${episode.heading}: `,
      outcome(episode.outcome, episode.ended)
    );
    const steps2 = episode.steps.filter((step) => step.ts_ns !== null);
    return el(
      "div",
      { class: "episode" },
      head,
      el("p", {}, episode.sentences.join(" ")),
      steps2.length ? sequence(episode, steps2) : hint("Its steps are in table stories/recovery_steps."),
      steps2.length ? details("Table of the steps", false, episodeTable(steps2)) : null,
      el(
        "p",
        { class: "row" },
        button("Show in timeline", () => showAt("timeline", start2, episode.recovered_ns ?? END), { class: "small" }),
        command(cutCommand("--recovery", episode.recovery_id ?? "", episode.recovery_id ?? ""))
      )
    );
  }
  function sequence(episode, steps2) {
    const lines2 = lifelines(episode, steps2);
    const { placed, height } = placedSteps(episode, steps2);
    const drawn = placed.map(({ step, n, y }) => sequenceStep(episode, step, { n, y, lines: lines2 }));
    const heads = [
      ["client", lines2.client],
      ...lines2.nodes.map((node) => [nodeName(node), lines2.x(node)])
    ].map(
      ([name2, x]) => svg(
        "g",
        {},
        svg("line", { class: "lifeline", x1: x, x2: x, y1: 32, y2: height - 8 }),
        svg("rect", { class: "head", x: x - 48, y: 8, width: 96, height: 24, rx: 4 }),
        svg("text", { class: "head-text", x, y: 24, "text-anchor": "middle" }, name2)
      )
    );
    const name = `Sequence diagram of the recovery, ${placed.length} lines; the table below says the same`;
    return picture("sequence", { width: 960, height, name }, heads, drawn);
  }
  function sequenceStep(episode, step, { n, y, lines: lines2 }) {
    const text = step.text + (n > 1 ? ` × ${n}` : "");
    const at = svg("text", { class: "at", x: 100, y: y + 4, "text-anchor": "end" }, step.at);
    if (step.step === "backoff") {
      return svg(
        "g",
        {},
        at,
        svg("rect", { class: "pause", x: lines2.client - 6, y: y - 8, width: 12, height: 16 }),
        svg("text", { x: lines2.client + 14, y: y + 4 }, `${text} ${step.took}`)
      );
    }
    const x = lines2.x(step.step === "hint" ? episode.old_node_id ?? step.node_id : step.node_id);
    const inward = ["error", "success", "hint"].includes(step.step ?? "");
    const [from, to] = inward ? [x, lines2.client] : [lines2.client, x];
    const way = to > from ? 1 : -1;
    const tone = step.step === "error" ? "bad" : step.step === "success" ? "good" : "";
    const mark = step.step === "error" ? svg("path", { class: "stroke-error", d: `M ${x - 5} ${y - 5} l 10 10 m -10 0 l 10 -10` }) : null;
    const took = step.duration_us !== null && !inward ? ` (${step.took})` : "";
    return svg(
      "g",
      { class: tone },
      at,
      svg("line", { class: `arrow ${step.step === "error" ? "dashed" : ""}`, x1: from, x2: to - way * 7, y1: y, y2: y }),
      svg("path", { class: "point", d: `M ${to} ${y} l ${-way * 9} -4.5 v 9 z` }),
      mark,
      svg("text", { class: "said", x: lines2.client + 14, y: y - 5 }, text + took)
    );
  }
  function episodeTable(steps2) {
    const columns = [["Step"], ["After", "num"], ["Took", "num"], ["Broker"], ["Error"], ["Packets", "num"]];
    const rows = steps2.map((step) => [
      step.text,
      step.at,
      step.took,
      step.node_id === null ? "" : nodeName(step.node_id),
      step.error_name ?? "",
      step.request_id ? packetLinks([step.request_id]) : packetsOfEnd(connectionPlace(step.conn_id ?? ""))
    ]);
    return table("Steps of the recovery", columns, rows);
  }

  // layout/waterfall.ts
  var WATERFALL_STEP = 18;
  function waterfallScale(start2, steps2) {
    const from = Math.min(start2.start_ns ?? Infinity, ...steps2.map((step) => step.start_ns));
    const to = start2.ready_ns ?? Math.max(...steps2.map((step) => step.end_ns ?? step.start_ns), from + 1e3);
    return { from, to, x: (ns) => 250 + Math.min(Math.max((ns - from) / Math.max(1, to - from), 0), 1.02) * 640 };
  }
  function placeOf(step, n, { x }) {
    const end = step.end_ns ?? step.start_ns;
    const split = Math.max(step.start_ns, end - (step.broker_us || 0) * 1e3);
    const waited = step.on_critical_path ? step.start_ns - (step.wait_us || 0) * 1e3 : step.start_ns;
    return { y: 20 + n * WATERFALL_STEP, start: x(step.start_ns), end: x(end), split: x(split), waited: x(waited) };
  }

  // drawing/waterfall.ts
  function startBlock(start2) {
    const steps2 = start2.steps.filter((step) => step.start_ns !== null);
    return el(
      "div",
      { class: "start-block" },
      el("h4", {}, `${start2.heading}: `, outcome(start2.outcome, start2.ended)),
      start2.slowest_text ? el("p", {}, `Where the time went: ${start2.slowest_text}.`) : null,
      steps2.length ? el("div", { class: "beside" }, waterfall(start2, steps2), expected(start2)) : hint("Its steps are in table stories/startup_steps."),
      steps2.length ? details("Table of the steps", false, stepsTable(start2, steps2)) : null
    );
  }
  function waterfall(start2, steps2) {
    const scale = waterfallScale(start2, steps2);
    const height = steps2.length * WATERFALL_STEP + 34;
    const lines2 = steps2.map((step, n) => waterfallStep(step, n, scale));
    const marks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
      const x = 250 + share * 640;
      const anchor = share === 0 ? "start" : share === 1 ? "end" : "middle";
      return [
        svg("line", { class: "grid", x1: x, x2: x, y1: 18, y2: height - 10 }),
        svg("text", { x, y: 12, "text-anchor": anchor }, `+${span((scale.to - scale.from) * share / 1e3)}`)
      ];
    });
    const name = `Waterfall of the start, ${steps2.length} steps; the table below says the same`;
    const key = "◆ critical path   ┄ client waits   █ broker   ▭ network   pale: beside the critical path";
    return picture(
      "waterfall",
      { width: 960, height, name },
      marks,
      lines2,
      svg("text", { class: "legend-text", x: 250, y: height - 1 }, key)
    );
  }
  function waterfallStep(step, n, scale) {
    const { y, start: start2, end, split, waited } = placeOf(step, n, scale);
    const critical = step.on_critical_path;
    const name = `${critical ? "◆ " : ""}${words(step.step)}${(step.attempt ?? 1) > 1 ? ` #${step.attempt}` : ""}`;
    const node = step.node_id === null ? "" : `${step.node_id}`;
    const wide = (from, to) => Math.max(0.5, to - from);
    const took = `${span(step.duration_us)}${step.outcome === "ok" ? "" : ` ${step.error_name || words(step.outcome)}`}`;
    const late = end > 780;
    return svg(
      "g",
      { class: critical ? "critical" : "beside-path" },
      svg("text", { class: "name", x: 222, y: y + 11, "text-anchor": "end" }, name),
      svg("text", { class: "node", x: 243, y: y + 11, "text-anchor": "end" }, node),
      critical && step.wait_us ? svg("rect", { class: "wait", x: waited, y: y + 5, width: wide(waited, start2), height: 4 }) : null,
      svg("rect", { class: "network", x: start2, y: y + 2, width: wide(start2, end), height: 10 }),
      step.broker_us ? svg("rect", { class: "broker", x: split, y: y + 2, width: wide(split, end), height: 10 }) : null,
      step.outcome === "ok" ? null : svg("path", { class: "stroke-error", d: `M ${end - 4} ${y + 3} l 8 8 m -8 0 l 8 -8` }),
      svg(
        "text",
        {
          class: step.outcome === "ok" ? "took" : "took bad",
          x: late ? waited - 6 : end + 7,
          y: y + 11,
          "text-anchor": late ? "end" : "start"
        },
        took
      )
    );
  }
  function expected(start2) {
    const missing = new Set(start2.missing_steps || []);
    const done = new Set(start2.steps.map((step) => step.step));
    const steps2 = (start2.expected_steps || []).map(
      (step) => el(
        "li",
        {},
        outcome(
          missing.has(step) ? "failed" : done.has(step) ? "ready" : "cut",
          words(step) + (missing.has(step) ? " (missing)" : "")
        )
      )
    );
    const { extra_steps, repeated_steps, out_of_order_steps } = start2;
    const odd = [
      ["extra", extra_steps],
      ["repeated", repeated_steps],
      ["out of order", out_of_order_steps]
    ];
    const differ = odd.map(
      ([what, steps3]) => steps3?.length ? el("p", {}, el("strong", {}, `${what}: `), steps3.map(words).join(", ")) : null
    );
    return el(
      "div",
      { class: "expected" },
      el("h5", {}, `Expected of ${start2.expected_sequence || "such a client"}`),
      steps2.length ? el("ol", {}, steps2) : null,
      differ
    );
  }
  function stepsTable(start2, steps2) {
    const columns = [
      ["Step"],
      ["From", "num"],
      ["Took", "num"],
      ["Broker", "num"],
      ["Waited before", "num"],
      ["Node"],
      ["About"],
      ["Outcome"],
      ["Critical"],
      ["Packets", "num"]
    ];
    const rows = steps2.map((step) => [
      words(step.step) + ((step.attempt ?? 1) > 1 ? ` #${step.attempt}` : ""),
      `+${span((step.start_ns - (start2.start_ns ?? 0)) / 1e3)}`,
      span(step.duration_us),
      span(step.broker_us),
      span(step.wait_us),
      step.node_id ?? "",
      step.subject ?? "",
      step.outcome === "ok" ? outcome("ready", "ok") : outcome("failed", step.error_name || words(step.outcome)),
      step.on_critical_path ? "◆ yes" : "",
      packetLinks(step.request_ids)
    ]);
    return table("Steps of the start", columns, rows);
  }

  // drawing/clients.ts
  var MOST_CLIENT_ROWS = 200;
  var MOST_BLOCKS = 8;
  function clientsSection() {
    return section(
      "clients",
      "Clients",
      STORY.stories.present ? clientTable() : hint(STORY.stories.why_not || ""),
      el("div", { id: "client", tabindex: "-1" })
    );
  }
  function clientTable() {
    const everyone = STORY.lanes.clients.map((client, number) => ({ client, number }));
    const mine = everyone.filter(({ client }) => client.kind !== "broker" && client.kind !== "unassigned");
    const columns = [
      ["Client"],
      ["Kind"],
      ["Address"],
      ["Software"],
      ["First seen", "num"],
      ["Start"],
      ["Trouble"],
      ["End"],
      ["Requests", "num"]
    ];
    const rows = mine.slice(0, MOST_CLIENT_ROWS).map(({ client, number }) => [
      button(client.name, () => showClient(number, true), { class: "link" }),
      words(client.kind),
      client.client_ip,
      client.software,
      clock(client.first_ns),
      client.start === null ? "" : outcome(client.start_outcome, client.start),
      clientOutcome(client.outcome, client.trouble),
      words(client.end_state),
      figure(client.n_requests)
    ]);
    const more2 = mine.length > MOST_CLIENT_ROWS ? hint(`… and ${grouped(mine.length - MOST_CLIENT_ROWS)} more: the timeline has them all.`) : null;
    return [table("Clients by the time they were first seen", columns, rows), more2];
  }
  function showClient(number, move) {
    VIEW.client = number;
    const client = STORY.lanes.clients[number];
    const mine = (rows) => rows.filter((one) => one.client_instance_id === client.client_instance_id);
    const [starts2, causes] = [mine(STORY.starts.listed), mine(STORY.episodes.causes)];
    const place = byId("client");
    replace(
      place,
      el("h3", {}, `Client ${client.name}`),
      el("p", {}, client.facts.join(" · ")),
      el(
        "p",
        { class: "row" },
        button(
          "Only this client in the timeline",
          () => {
            setFilter({ client: client.client_instance_id });
            VIEW.open.add(number);
            layRows();
            jump("timeline");
          },
          { class: "small" }
        ),
        command(cutCommand("--client", client.client_instance_id, client.client_instance_id))
      ),
      starts2.slice(0, MOST_BLOCKS).map(startBlock),
      starts2.length > MOST_BLOCKS ? hint(`… and ${starts2.length - MOST_BLOCKS} more starts (table stories/startups).`) : null,
      causes.length ? el("h3", {}, `Recoveries of ${client.name}`) : null,
      causes.map(causeBlock),
      connectionTable(client)
    );
    if (move) {
      place.focus({ preventScroll: true });
      jump("client");
    }
    viewChanged();
  }
  function causeBlock(cause) {
    const made = details([`${cause.heading}: `, outcome(cause.outcome, cause.ended)], false);
    made.dataset.episodes = cause.recovery_ids.join(" ");
    const known = (id) => STORY.episodes.listed.find((one) => one.recovery_id === id);
    return filledWhenOpen(made, () => [
      episodeBlock(known(cause.worst)),
      cause.alike.map(
        (id) => details(`${known(id).resource ?? "?"}: ${known(id).ended}`, false, episodeBlock(known(id)))
      )
    ]);
  }
  function showEpisode(id) {
    const episode = STORY.episodes.listed.find((one) => one.recovery_id === id);
    if (!episode) return;
    showClient(clientPlace(episode.client_instance_id ?? ""), false);
    const choice2 = [...document.querySelectorAll("#client details[data-episodes]")].find(
      (one) => one.dataset.episodes?.split(" ").includes(id)
    );
    if (!choice2) return jump("client");
    choice2.open = true;
    choice2.scrollIntoView({ block: "start" });
    choice2.querySelector("summary")?.focus({ preventScroll: true });
  }
  function connectionTable(client) {
    const columns = [
      ["To"],
      ["From"],
      ["Roles"],
      ["Open", "num"],
      ["Until", "num"],
      ["Ended"],
      ["Requests", "num"],
      ["Errors", "num"],
      [""]
    ];
    const rows = client.conns.slice(0, 100).map((n) => {
      const conn = STORY.lanes.connections[n];
      return [
        `${nodeName(conn.node_id)} ${conn.to}`,
        conn.from,
        conn.roles.map((role) => role.text).join("; "),
        clock(conn.first_ns),
        clock(conn.last_ns),
        words(conn.close_kind),
        figure(conn.n_requests),
        figure(conn.n_errors),
        button("Show", () => showConnection(n), {
          class: "small",
          "aria-label": `Show connection ${conn.from} in the timeline`
        })
      ];
    });
    const open = details(
      `Its ${count(client.n_connections, "connection")}`,
      false,
      table("Connections of the client", columns, rows)
    );
    open.classList.add("connections");
    return open;
  }

  // drawing/comparison.ts
  var MOST_ROWS = 500;
  var SAME = "same";
  var MS = 1e3;
  function comparisonHead({ before, after }) {
    return el("header", {}, brand(`${before.name} and ${after.name}`, "kafkascope diff"));
  }
  function comparisonSections(model) {
    return el(
      "main",
      {},
      section("captures", "The two captures", sides(model), summary(model)),
      section("clients", "Clients and their starts", starts(model), only(model)),
      section("incidents", "Incidents", incidents(model)),
      section("recoveries", "Recoveries", recoveries(model)),
      section(
        "latency",
        "Latency",
        hint(
          "From the last byte of the request to the first byte of the answer; without requests that are meant to wait."
        ),
        latency("Latency by API", model.latency, model.worse),
        latency("Latency by API and broker", model.latency_by_broker, model.worse)
      ),
      section("more", "Errors, rebalances, versions", errors(model), rebalances(model), versions(model))
    );
  }
  function sides({ before, after }) {
    const row = (what, of) => [what, of(before), of(after)];
    const rows = [
      row("begins", (side) => side.start ?? ""),
      row("lasts", (side) => span(side.duration_us)),
      row("clients", (side) => grouped(side.n_clients)),
      row("requests", (side) => grouped(side.n_requests)),
      row("incidents", (side) => grouped(side.n_incidents)),
      row("clients that stalled", (side) => grouped(side.n_stalled_clients))
    ];
    return table("The two captures", [[""], ["Before", "num"], ["After", "num"]], rows);
  }
  function summary({ matched, n_slower, n_faster }) {
    const kinds = count(matched.length, "kind");
    return el("p", { class: "lead" }, `${kinds} of client in both: ${n_slower} slower, ${n_faster} faster.`);
  }
  function verdict(word, worse) {
    const kind = word === SAME ? "quiet" : worse.includes(word) ? "worse" : "better";
    const sign = { quiet: "=", worse: "▲", better: "▼" }[kind];
    return el("span", { class: `verdict ${kind}` }, `${sign} ${word}`);
  }
  function changes([caption, worse], columns, all, cells) {
    if (!all.length) return hint(`${caption}: nothing to compare.`);
    const changed = all.filter((row) => row.verdict !== SAME);
    const same = all.filter((row) => row.verdict === SAME);
    const shown = (rows, title) => [
      table(
        title,
        [...columns, ["Verdict"]],
        rows.slice(0, MOST_ROWS).map((row) => [...cells(row), verdict(row.verdict, worse)])
      ),
      rows.length > MOST_ROWS ? hint(`… and ${grouped(rows.length - MOST_ROWS)} more (--format json).`) : null
    ];
    return [
      changed.length ? shown(changed, caption) : hint(`${caption}: nothing changed.`),
      same.length ? details(`${count(same.length, "row")} as before`, false, shown(same, `${caption}, as before`)) : null
    ];
  }
  var PAIR = [
    ["Before", "num"],
    ["After", "num"]
  ];
  function pair(title) {
    return [
      [`${title} before`, "num"],
      [`${title} after`, "num"]
    ];
  }
  function starts(model) {
    const total = (us, outcome2) => us === null ? words(outcome2 ?? "unknown") : span(us);
    const columns = [["Client"], ["Kind"], ["Group"], ["Transactional id"], ...pair("Clients"), ...PAIR];
    return changes(
      ["Starts", model.worse],
      [...columns, ["Change", "num"], ["Steps that changed most"]],
      model.matched,
      (row) => [
        row.client_id,
        words(row.kind),
        row.group_id,
        row.transactional_id,
        grouped(row.n_before),
        grouped(row.n_after),
        total(row.before_us, row.outcome_before),
        total(row.after_us, row.outcome_after),
        row.change_us === null ? "" : span(row.change_us),
        steps(row)
      ]
    );
  }
  function steps(row) {
    return row.steps.slice(0, 3).map(stepText).join("; ");
  }
  function stepText(step) {
    const parts = [
      ["the client’s wait", step.wait_us],
      ["the broker", step.broker_us],
      ["the network", step.network_us]
    ];
    const [part] = parts.reduce((a, b) => Math.abs(b[1]) > Math.abs(a[1]) ? b : a);
    const sign = step.change_us > 0 ? "+" : "−";
    const from = `${span(step.before_us)} to ${span(step.after_us)}`;
    return `${sign}${span(Math.abs(step.change_us))} ${words(step.step)} (${from}), mostly ${part}`;
  }
  function only({ only_before, only_after }) {
    const rows = (kinds, where) => kinds.map((kind) => [kind.client_id, words(kind.kind), kind.group_id, kind.transactional_id, where]);
    const all = [...rows(only_after, "new: only after"), ...rows(only_before, "gone: only before")];
    if (!all.length) return null;
    const columns = [["Client"], ["Kind"], ["Group"], ["Transactional id"], ["Where"]];
    return [
      table("Clients of one capture alone", columns, all.slice(0, MOST_ROWS)),
      all.length > MOST_ROWS ? hint(`… and ${grouped(all.length - MOST_ROWS)} more (--format json).`) : null
    ];
  }
  function incidents(model) {
    const columns = [["What failed"], ...pair("Times"), ...pair("Clients"), ...pair("Longest stall")];
    return changes(["Incidents", model.worse], columns, model.incidents, (row) => [
      row.what,
      grouped(row.n_before),
      grouped(row.n_after),
      grouped(row.clients_before),
      grouped(row.clients_after),
      span(row.longest_before_ms * MS),
      span(row.longest_after_ms * MS)
    ]);
  }
  function recoveries(model) {
    const took = (ms) => ms === null ? "" : span(ms * MS);
    const columns = [["Client"], ["What broke"], ["First error"], ...pair("Times"), ...pair("Median")];
    return changes(["Recoveries", model.worse], [...columns, ...pair("Not recovered")], model.recoveries, (row) => [
      row.client_id,
      words(row.resource_kind),
      row.error_name,
      grouped(row.n_before),
      grouped(row.n_after),
      took(row.before_ms),
      took(row.after_ms),
      grouped(row.unrecovered_before),
      grouped(row.unrecovered_after)
    ]);
  }
  function latency(caption, rows, worse) {
    const columns = [["API"], ["Broker"], ...pair("Answers"), ...pair("p50"), ...pair("p99")];
    return changes([caption, worse], columns, rows, (row) => [
      row.api_name,
      row.node_id === null ? "all" : nodeName(row.node_id),
      grouped(row.n_before),
      grouped(row.n_after),
      span(row.p50_before_us),
      span(row.p50_after_us),
      span(row.p99_before_us),
      span(row.p99_after_us)
    ]);
  }
  function errors(model) {
    const columns = [["Error"], ["API"], ...pair("Times"), ...pair("A minute")];
    return changes(["Errors in the brokers’ answers", model.worse], columns, model.errors, (row) => [
      row.error_name,
      row.api_name,
      grouped(row.n_before),
      grouped(row.n_after),
      row.per_minute_before.toFixed(1),
      row.per_minute_after.toFixed(1)
    ]);
  }
  function rebalances(model) {
    const columns = [["Group"], ...pair("Times"), ...pair("Longest unread"), ["Triggers before"], ["Triggers after"]];
    return changes(["Rebalances", model.worse], columns, model.rebalances, (row) => [
      row.group_id,
      figure(row.n_before),
      figure(row.n_after),
      span(row.longest_before_ms * MS),
      span(row.longest_after_ms * MS),
      row.triggers_before.map(words).join(", "),
      row.triggers_after.map(words).join(", ")
    ]);
  }
  function versions(model) {
    const rows = model.versions.slice(0, MOST_ROWS).map(({ client_id, what, before, after }) => [client_id, what, before, after]);
    const columns = [["Client"], ["What"], ["Only before"], ["Only after"]];
    return rows.length ? table("Software and versions in use", columns, rows) : null;
  }

  // drawing/embedded.ts
  var ARRAYS = {
    u8: Uint8Array,
    u16: Uint16Array,
    u32: Uint32Array,
    i32: Int32Array,
    f64: Float64Array
  };
  async function inflated(id) {
    const node = byId(id);
    const text = node.textContent ?? "";
    node.remove();
    const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer();
  }
  async function loadComparison() {
    const id = "data-comparison";
    if (!document.getElementById(id)) return null;
    return JSON.parse(new TextDecoder().decode(await inflated(id)));
  }
  async function loadData() {
    const [story, columns] = await Promise.all([inflated("data-story"), inflated("data-columns")]);
    openStory(JSON.parse(new TextDecoder().decode(story)), columnsOf(columns));
  }
  function columnsOf(buffer) {
    const size = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
    const columns = {};
    for (const [name, kind, length, at] of header) columns[name] = new ARRAYS[kind](buffer, 4 + size + at, length);
    return columns;
  }

  // drawing/flow.ts
  var TOPIC_COLUMNS = [
    ["Topic"],
    ["Read by"],
    ["Records", "num"],
    ["Created to acked p50", "num"],
    ["p99", "num"],
    ["Acked to fetched p50", "num"],
    ["p99", "num"],
    ["Lag at most", "num"],
    ["At the end", "num"],
    ["Commit lag at most", "num"],
    ["At the end", "num"],
    ["Lag over time"]
  ];
  var PARTITION_COLUMNS = [
    ["Partition"],
    ["Leader"],
    ["Records", "num"],
    ["Fetched", "num"],
    ["Created to acked p99", "num"],
    ["Acked to fetched p99", "num"],
    ["Lag at most", "num"],
    ["At", "num"],
    ["At the end", "num"],
    ["Commit lag at most", "num"],
    ["At the end", "num"]
  ];
  var SLICE_COLUMNS = [
    ["From"],
    ["Records", "num"],
    ["Fetched", "num"],
    ["Created to acked p99", "num"],
    ["Acked to fetched p99", "num"],
    ["Lag", "num"],
    ["Commit lag", "num"]
  ];
  function flowSection() {
    const { present, why_not, n, listed, slice_length, more: more2 } = STORY.flow;
    if (!present) return section("flow", "Topics", hint(why_not));
    if (!n) return section("flow", "Topics", el("p", {}, "No record was written or fetched in the capture."));
    return section(
      "flow",
      "Topics",
      hint(
        `Created to acked: from the create time in a batch, on the capture’s clock, to the response that accepted it. Acked to fetched: to the first response to any member of the group that brought the record. Lag: records that the group had not fetched yet, all partitions together. Commit lag: records that it had not committed yet, as kafka-consumer-groups.sh counts them; it includes those that wait in the consumer. Over time: slices of ${slice_length}.`
      ),
      table(
        "Latency from end to end, and lag",
        TOPIC_COLUMNS,
        listed.map((one) => [one.topic, one.reader, ...one.figures, lagBars(one)])
      ),
      more2 ? hint(more2) : null,
      el(
        "ul",
        {},
        listed.filter((one) => one.sentence).map((one) => el("li", {}, one.sentence))
      ),
      listed.map(flowDetails)
    );
  }
  function lagBars({ lags }) {
    if (!lags.length) return null;
    const x = (ns) => Math.max(ns, 0) / END * 196 + 2;
    const bars = lags.map(({ from_ns, to_ns, share }) => {
      const height = Math.max(1, share * 14);
      const width = Math.max(1, (to_ns - from_ns) / END * 196 - 0.5);
      return svg("rect", { class: "box", x: x(from_ns), y: 16 - height, width, height });
    });
    return svg("svg", { class: "latency", viewBox: "0 0 200 16", width: 200, height: 16, "aria-hidden": "true" }, bars);
  }
  function flowDetails(one) {
    return details(
      one.heading,
      false,
      table(`Partitions of ${one.topic}`, PARTITION_COLUMNS, one.partitions),
      one.more_partitions ? hint(one.more_partitions) : null,
      table(`${one.topic} over time`, SLICE_COLUMNS, one.slices)
    );
  }

  // drawing/fragment.ts
  var pendingFragment = 0;
  function keepFragment() {
    onView(fragmentLater);
    fragmentLater();
  }
  function fragmentLater() {
    clearTimeout(pendingFragment);
    pendingFragment = window.setTimeout(writeFragment, 250);
  }
  function writeFragment() {
    const parts = new URLSearchParams();
    if (VIEW.from > 0 || VIEW.to < END) parts.set("t", `${Math.round(VIEW.from)}-${Math.round(VIEW.to)}`);
    for (const [name, value] of Object.entries(FILTER)) if (value) parts.set(name, value === true ? "1" : value);
    if (VIEW.open.size && VIEW.open.size <= 20) parts.set("open", [...VIEW.open].sort((a, b) => a - b).join("."));
    if (VIEW.brokers) parts.set("brokers", "1");
    if (VIEW.request >= 0) parts.set("request", requestId(VIEW.request));
    if (VIEW.client >= 0) parts.set("about", STORY.lanes.clients[VIEW.client].client_instance_id);
    if (VIEW.at !== null) parts.set("at", String(Math.round(VIEW.at)));
    const text = parts.toString();
    try {
      history.replaceState(null, "", text ? `#${text}` : "#");
    } catch {
    }
  }
  function readFragment() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const [from, to] = (parts.get("t") || "").split("-").map(Number);
    for (const name of FILTER_TEXTS) FILTER[name] = parts.get(name) || "";
    FILTER.errors = parts.get("errors") === "1";
    const open = (parts.get("open") || "").split(".").filter((n) => /^\d+$/.test(n)).map(Number);
    VIEW.open = new Set(open.filter((n) => n < STORY.lanes.clients.length));
    VIEW.brokers = VIEW.brokers || parts.get("brokers") === "1";
    VIEW.request = parts.has("request") ? findRequest(parts.get("request") ?? "") : -1;
    if (parts.has("about")) VIEW.client = clientPlace(parts.get("about") ?? "");
    if (/^\d+$/.test(parts.get("at") || "")) VIEW.at = Math.min(Number(parts.get("at")), END);
    return Number.isFinite(from) && to > from ? setView(from, to) : setView(0, END);
  }

  // drawing/frames.ts
  var DRAWINGS = [];
  var pendingFrame = 0;
  function drawOnFrames(...drawings) {
    DRAWINGS.push(...drawings);
    onView(frameLater);
    frameLater();
  }
  function frameLater() {
    if (!pendingFrame) pendingFrame = requestAnimationFrame(drawView);
  }
  function drawView() {
    pendingFrame = 0;
    for (const draw of DRAWINGS) draw();
  }

  // facts/groups.ts
  function memberKey(member) {
    return member.client_instance_id || member.member_id;
  }
  function memberName(member) {
    const place = clientPlace(member.client_instance_id ?? "");
    return place >= 0 ? STORY.lanes.clients[place].name : member.member_id || "?";
  }
  function joinedLast({ last_joiner }, { member_id, client_instance_id }) {
    return Boolean(last_joiner) && (last_joiner === member_id || last_joiner === client_instance_id);
  }
  function departedText(one) {
    return `${one.client_id || memberName(one)} ${words(one.how)}${one.silent_ms ? ` after ${span(one.silent_ms * 1e3)} of silence` : ""}`;
  }

  // layout/capture_scale.ts
  var MARKS = [0, 0.25, 0.5, 0.75, 1];
  function groupX(ns) {
    return 220 + Math.max(0, Math.min(ns, END)) / END * 730;
  }

  // drawing/capture_scale.ts
  var MOST_GROUPS = 30;
  function groupMarks(height) {
    return MARKS.map((share) => {
      const x = groupX(share * END);
      const text = { x, y: height - 6, "text-anchor": share === 1 ? "end" : "middle" };
      return [
        svg("line", { class: "grid", x1: x, x2: x, y1: 4, y2: height - 20 }),
        svg("text", text, clock(share * END, 0))
      ];
    });
  }
  function groupName(text, y) {
    return svg("text", { x: 212, y, "text-anchor": "end" }, shortened(text, 36));
  }

  // drawing/groups.ts
  var GROUP_LANE = 15;
  var MOST_UNREAD = 12;
  function groupsSection() {
    const { present, listed, n, groups } = STORY.rebalances;
    if (!present)
      return section(
        "groups",
        "Groups",
        hint("This dataset has no table of rebalances: it was made before there was one, or without stories.")
      );
    if (!n) return section("groups", "Groups", el("p", {}, "No group rebalanced in the capture."));
    const more2 = groups.length > MOST_GROUPS ? hint(`… and ${groups.length - MOST_GROUPS} more groups (table stories/rebalances).`) : null;
    const blocks = groups.slice(0, MOST_GROUPS).map(({ name, in_short, places }, n2) => {
      const title = [el("strong", {}, name), ` · ${in_short}`];
      return groupBlock(
        title,
        places.map((place) => listed[place]),
        n2 < 4
      );
    });
    return section("groups", "Groups", blocks, more2);
  }
  function groupBlock(title, rebalances2, open) {
    return details(
      title,
      open,
      groupPicture(rebalances2),
      hint(
        "Outlined: from a member’s join to its assignment; ▸ the last to join; solid: nobody read a partition that it had next."
      ),
      unreadList(rebalances2),
      details("Table of the rebalances", false, rebalanceTable(rebalances2))
    );
  }
  function unreadList(rebalances2) {
    const unread = rebalances2.filter((one) => one.unread_text);
    if (!unread.length) return null;
    const lines2 = unread.slice(0, MOST_UNREAD).map((one) => el("li", {}, `${clock(one.start_ns)} ${one.unread_text}`));
    const more2 = unread.length > MOST_UNREAD ? hint(`… and ${unread.length - MOST_UNREAD} more (table stories/rebalances).`) : null;
    return el("div", {}, el("ul", {}, lines2), more2);
  }
  function groupPicture(rebalances2) {
    const everyone = rebalances2.flatMap((one) => one.members || []);
    const members = [...new Map(everyone.map((member) => [memberKey(member), member])).values()].slice(0, 40);
    const height = (members.length + 1) * GROUP_LANE + 46;
    const names = members.map((member, n) => groupName(memberName(member), 46 + n * GROUP_LANE));
    const waits = rebalances2.map((one) => (one.members || []).map((member) => memberWait(one, member, members)));
    const unread = rebalances2.map((one) => (one.partitions || []).map((entry) => unreadBar(one, entry, members)));
    const name = `${count(rebalances2.length, "rebalance")} over the time of the capture; the table below says the same`;
    return picture(
      "group",
      { width: 960, height, name },
      groupMarks(height),
      groupName("rebalances (generation below)", 17),
      rebalances2.map(rebalanceBar),
      names,
      unread,
      waits
    );
  }
  function rebalanceBar(one) {
    const x = groupX(one.start_ns ?? 0);
    const width = Math.max(3, groupX(one.end_ns ?? END) - x);
    return svg(
      "g",
      {},
      svg("rect", { class: "rebalance", x, y: 6, width, height: 12 }, svg("title", {}, words(one.trigger))),
      svg("text", { class: "small", x: x + 1, y: 29 }, `${one.generation ?? ""}`)
    );
  }
  function unreadBar(rebalance, entry, members) {
    const owner = entry.owner_after ?? entry.owner_before;
    const staying = (rebalance.members || []).find((one) => one.member_id === owner);
    const member = staying ?? (rebalance.departed || []).find((one) => one.member_id === owner);
    const n = member ? members.findIndex((one) => memberKey(one) === memberKey(member)) : -1;
    if (n < 0) return null;
    const x = groupX(entry.unread_from_ns ?? 0);
    const width = Math.max(1.5, groupX(entry.unread_to_ns ?? END) - x);
    return svg(
      "rect",
      { class: "unread", x, y: 39 + n * GROUP_LANE, width, height: 6 },
      svg("title", {}, rebalance.unread_text)
    );
  }
  function memberWait(rebalance, member, members) {
    const n = members.findIndex((one) => memberKey(one) === memberKey(member));
    if (n < 0 || member.joined_ns === null) return null;
    const y = 37 + n * GROUP_LANE;
    const to = member.synced_ns ?? rebalance.end_ns ?? member.joined_ns;
    const last = joinedLast(rebalance, member);
    return svg(
      "g",
      {},
      svg("rect", {
        class: "joining",
        x: groupX(member.joined_ns),
        y,
        width: Math.max(2, groupX(to) - groupX(member.joined_ns)),
        height: 10
      }),
      last ? svg("path", { class: "tip-last", d: `M ${groupX(member.joined_ns)} ${y - 1} l 5 6 l -5 6 z` }) : null
    );
  }
  function rebalanceTable(rebalances2) {
    const columns = [
      ["Generation", "num"],
      ["From", "num"],
      ["Took", "num"],
      ["Trigger"],
      ["Members", "num"],
      ["Last joiner"],
      ["Unread", "num"],
      ["Left it"],
      ["Coordinator"],
      ["Packets"]
    ];
    const rows = rebalances2.map((one) => {
      const last = (one.members || []).find((member) => joinedLast(one, member));
      return [
        one.generation ?? "",
        clock(one.start_ns),
        one.duration_ms === null ? "" : span(one.duration_ms * 1e3),
        [words(one.trigger), one.trigger_why ? `: ${one.trigger_why}` : ""],
        one.n_members ?? "",
        last ? memberName(last) : one.last_joiner ?? "",
        one.unread_ms === null ? "" : span(one.unread_ms * 1e3),
        (one.departed || []).map(departedText).join("; "),
        nodeName(one.node_id),
        packetLinks((one.evidence || []).slice(0, 3))
      ];
    });
    return table("Rebalances", columns, rows);
  }

  // layout/latency_lines.ts
  function scaleOf(slots) {
    const lowest = slots.reduce((least2, slot) => Math.min(least2, Math.max(slot.p50_us, 1)), Number.POSITIVE_INFINITY);
    const highest = slots.reduce((most, slot) => Math.max(most, slot.p99_us), 1);
    const least = 10 ** Math.floor(Math.log10(Math.min(lowest, highest)));
    return [least, Math.max(10 ** Math.ceil(Math.log10(highest)), 10 * least)];
  }
  function xOf2(ns, frame) {
    return frame.left + Math.min(Math.max(ns, 0), frame.end) / frame.end * frame.width;
  }
  function yOf(us, frame) {
    const share = Math.log10(Math.max(us, frame.least) / frame.least) / Math.log10(frame.most / frame.least);
    return frame.top + (1 - Math.min(share, 1)) * frame.height;
  }
  function ticksOf({ least, most }) {
    const ticks2 = [];
    for (let us = least; us <= most; us *= 10) ticks2.push(us);
    return ticks2;
  }
  function pathOf(slots, of, frame) {
    let before = -1;
    const parts = slots.map((slot) => {
      const y = yOf(of(slot), frame).toFixed(1);
      const [from, to] = [xOf2(slot.from_ns, frame).toFixed(1), xOf2(slot.to_ns, frame).toFixed(1)];
      const joined2 = slot.from_ns === before;
      before = slot.to_ns;
      return joined2 ? `V${y}H${to}` : `M${from} ${y}H${to}`;
    });
    return parts.join("");
  }

  // drawing/latency_lines.ts
  var WIDTH = 1e3;
  var LEFT = 70;
  var TOP = 22;
  var ROW2 = 120;
  var HEIGHT = 84;
  function latencyLines() {
    const { listed, n, slot_text } = STORY.latency_over_time;
    if (!listed.length) return null;
    const [least, most] = scaleOf(listed.flatMap((one) => one.slots));
    const frame = (row) => ({
      width: WIDTH - LEFT - 10,
      height: HEIGHT,
      left: LEFT,
      top: TOP + row * ROW2,
      end: END,
      least,
      most
    });
    const size = {
      width: WIDTH,
      height: TOP + listed.length * ROW2,
      name: "p50 and p99 of each broker over the capture; the table below says the same"
    };
    return [
      hint(
        `How fast each broker answered clients: p50 (thick line) and p99 (thin, dashed), logarithmic, in slots of ${slot_text}, by when requests were sent; without requests that are meant to wait.`
      ),
      picture("latency-lines", size, ...listed.map((one, row) => lines(one, frame(row)))),
      n > listed.length ? hint(`… and ${count(n - listed.length, "broker")} more, with fewer requests.`) : null,
      details("Latency over time as a table", false, slotsTable(listed))
    ];
  }
  function lines({ node_id, slots }, frame) {
    const right = frame.left + frame.width;
    const foot = frame.top + frame.height;
    return svg(
      "g",
      {},
      svg("text", { class: "strong", x: frame.left, y: frame.top - 6 }, nodeName(node_id)),
      ticksOf(frame).flatMap((us) => [
        svg("line", { class: "grid", x1: frame.left, x2: right, y1: yOf(us, frame), y2: yOf(us, frame) }),
        svg("text", { class: "small", x: frame.left - 6, y: yOf(us, frame) + 3, "text-anchor": "end" }, span(us))
      ]),
      [0, 0.5, 1].map(
        (share) => svg(
          "text",
          {
            class: "small",
            x: xOf2(share * frame.end, frame),
            y: foot + 12,
            "text-anchor": { 0: "start", 0.5: "middle", 1: "end" }[share]
          },
          clock(share * frame.end)
        )
      ),
      svg("path", { class: "p99", d: pathOf(slots, (slot) => slot.p99_us, frame) }),
      svg("path", { class: "p50", d: pathOf(slots, (slot) => slot.p50_us, frame) })
    );
  }
  function slotsTable(listed) {
    const columns = [["Broker"], ["When"], ["Requests", "num"], ["p50", "num"], ["p99", "num"]];
    const rows = listed.flatMap(
      (one) => one.slots.map((slot) => [nodeName(one.node_id), slot.when, grouped(slot.n), span(slot.p50_us), span(slot.p99_us)])
    );
    return table("Latency of each broker over time", columns, rows);
  }

  // drawing/latency.ts
  var MOST_LATENCIES = 60;
  function latencySection() {
    return section(
      "latency",
      "Latency and load",
      latencyLines(),
      latencyTable(),
      leadersTable(),
      trafficTables(),
      oldVersionsTable()
    );
  }
  function moreRows(part, shown, one) {
    return part.n > shown ? hint(`… and ${count(part.n - shown, one)} more (report.json).`) : null;
  }
  function latencyTable() {
    const listed = STORY.latency.listed.slice(0, MOST_LATENCIES);
    if (!listed.length) return hint("No answered request is in the capture.");
    const columns = [
      ["API"],
      ["Broker"],
      ["Answers", "num"],
      ["p50", "num"],
      ["p99", "num"],
      ["Slowest", "num"],
      ["Queued p50", "num"],
      ["Queued p99", "num"],
      ["Network p50", "num"],
      ["Network p99", "num"],
      ["p50 ━ p99 ┄ slowest, logarithmic"]
    ];
    const rows = listed.map((one) => [
      one.api_name,
      one.node_id === null ? one.address ?? "" : nodeName(one.node_id),
      grouped(one.n),
      span(one.broker_p50_us),
      span(one.broker_p99_us),
      span(one.max_us),
      span(one.queued_p50_us),
      span(one.queued_p99_us),
      span(one.network_p50_us),
      span(one.network_p99_us),
      latencyBar(one)
    ]);
    return [
      hint(
        "From the last byte of the request to the first byte of the answer, as the capture saw them; queued, which is not in it, is the wait for the answer before it on the connection; network is the bytes’ own time on the way. Fetch waits for records on purpose, JoinGroup for the other members."
      ),
      table("Latency by API and broker", columns, rows),
      moreRows(STORY.latency, listed.length, "pair")
    ];
  }
  function latencyBar(one) {
    const most = STORY.latency.listed.reduce((a, b) => Math.max(a, b.max_us ?? 0), 10);
    const x = (us) => Math.log10(Math.max(1, us ?? 0)) / Math.log10(most) * 196 + 2;
    const [half, late] = [x(one.broker_p50_us), x(one.broker_p99_us)];
    return svg(
      "svg",
      { class: "latency", viewBox: "0 0 200 14", width: 200, height: 14, "aria-hidden": "true" },
      svg("line", { class: "whisker", x1: late, x2: x(one.max_us), y1: 7, y2: 7 }),
      svg("rect", { class: "box", x: half, y: 3, width: Math.max(1, late - half), height: 8 }),
      svg("line", { class: "median", x1: half, x2: half, y1: 1, y2: 13 })
    );
  }
  function leadersTable() {
    const { listed, skew } = STORY.leaders;
    if (!listed.length) return null;
    const columns = [
      ["Leader"],
      ["Partitions", "num"],
      ["Produce", "num"],
      ["Written", "num"],
      ["Fetch", "num"],
      ["Read", "num"]
    ];
    const rows = listed.map((one) => [
      nodeName(one.node_id),
      one.n_partitions,
      grouped(one.n_produce),
      bytes(one.produce_bytes),
      grouped(one.n_fetch),
      bytes(one.fetch_bytes)
    ]);
    return [
      table("What clients wrote to and read from each leader", columns, rows),
      skew ? hint(`The busiest has ${skew.toFixed(2)} times an even share.`) : null
    ];
  }
  function trafficTables() {
    const listed = STORY.client_traffic.listed.slice(0, MOST_LATENCIES);
    const written = listed.flatMap(
      ({ client_id, client_ip, produce: sent }) => sent ? [
        [
          client_id ?? "",
          client_ip ?? "",
          grouped(sent.n),
          grouped(sent.n_records),
          sent.records_a_request ?? "",
          sent.bytes_a_batch ?? "",
          Object.keys(sent.acks).map((acks) => acks === "-1" ? "all" : acks).join(", "),
          Object.keys(sent.codecs).join(", ")
        ]
      ] : []
    );
    const read = listed.flatMap(
      ({ client_id, client_ip, fetch: got }) => got ? [
        [
          client_id ?? "",
          client_ip ?? "",
          grouped(got.n),
          grouped(got.n_records),
          got.records_a_request ?? "",
          grouped(got.n_empty),
          got.max_wait_ms === null ? "" : span(got.max_wait_ms * 1e3)
        ]
      ] : []
    );
    const common = [["Client"], ["Address"], ["Requests", "num"], ["Records", "num"], ["Records a request", "num"]];
    const columns = [...common, ["Bytes a batch", "num"], ["Acks"], ["Compression"]];
    return [
      written.length ? table("What each producer wrote", columns, written) : null,
      read.length ? table("What each consumer read", [...common, ["Empty", "num"], ["Longest wait", "num"]], read) : null,
      moreRows(STORY.client_traffic, listed.length, "client")
    ];
  }
  function oldVersionsTable() {
    const listed = STORY.removed_versions.listed.slice(0, MOST_LATENCIES);
    if (!listed.length) return null;
    const columns = [
      ["Client"],
      ["Address"],
      ["Software"],
      ["API"],
      ["Version", "num"],
      ["Kafka 4.0 begins at", "num"],
      ["Requests", "num"],
      ["First", "num"]
    ];
    const rows = listed.map((one) => [
      one.client_id ?? "",
      one.client_ip ?? "",
      [one.software_name, one.software_version].filter(Boolean).join(" "),
      one.api_name,
      one.api_version,
      one.lowest_in_4_0 ?? "gone",
      grouped(one.n),
      clock(one.first_ns)
    ]);
    return [
      table("Versions that Kafka 4.0 removed (KIP-896)", columns, rows),
      moreRows(STORY.removed_versions, listed.length, "use")
    ];
  }

  // facts/cluster_at.ts
  function stateAt(ns, brokers) {
    const links = /* @__PURE__ */ new Map();
    STORY.lanes.connections.forEach((conn) => {
      if (conn.protocol !== "kafka" || conn.first_ns > ns || (conn.close_ns ?? conn.last_ns) < ns) return;
      const client = STORY.lanes.clients[conn.client];
      if (client.kind === "broker" && !brokers) return;
      const key = `${conn.client}:${conn.node_id ?? conn.to}`;
      const link = links.get(key) || {
        client: conn.client,
        node: conn.node_id ?? conn.to,
        roles: /* @__PURE__ */ new Map(),
        n: 0
      };
      link.n += 1;
      for (const role of conn.roles) if ((role.first_ns ?? 0) <= ns) link.roles.set(role.role, role);
      links.set(key, link);
    });
    const led = /* @__PURE__ */ new Map();
    for (const owner of STORY.topology.owners) {
      const node = ownerAt(owner, ns);
      if (node === null) continue;
      const known = led.get(node) ?? {};
      led.set(node, { ...known, [owner.kind]: (known[owner.kind] ?? 0) + 1 });
    }
    return { ns, links: [...links.values()], led };
  }
  function ownerAt(owner, ns) {
    let node = null;
    owner.since_ns.forEach((since, n) => {
      if (since <= ns) node = owner.node_ids[n];
    });
    return node;
  }
  function isGone(node, ns) {
    return STORY.topology.presence.filter((one) => one.node_id === node && one.at_ns <= ns).at(-1)?.what === "gone";
  }
  function changesNear(at, reach) {
    const near = STORY.topology.changes.filter((change) => Math.abs(change.ts_ns - at) < reach).slice(0, 6);
    const groups = STORY.rebalances.listed.filter((one) => (one.start_ns ?? 0) - reach < at && at < (one.end_ns ?? END) + reach).slice(0, 3);
    const lines2 = [
      ...near.map((change) => `${clock(change.ts_ns)} ${change.text}`),
      ...groups.map((one) => `${clock(one.start_ns)} rebalance of ${one.group_id}: ${words(one.trigger)}`)
    ];
    return lines2.length ? lines2 : null;
  }

  // drawing/keys.ts
  var KEYS = {
    ArrowLeft: () => pan(-0.15),
    ArrowRight: () => pan(0.15),
    PageUp: () => pan(-0.9),
    PageDown: () => pan(0.9),
    "+": () => zoom(0.6, middleTime()),
    "=": () => zoom(0.6, middleTime()),
    "-": () => zoom(1 / 0.6, middleTime()),
    0: () => setView(0, END),
    Home: () => setView(0, VIEW.to - VIEW.from),
    End: () => setView(END - (VIEW.to - VIEW.from), END),
    ArrowDown: () => moveCursor(1),
    ArrowUp: () => moveCursor(-1),
    n: () => stepRequest(1),
    p: () => stepRequest(-1),
    e: () => nextError(),
    o: () => openCursor(),
    Enter: () => VIEW.request >= 0 ? openRequest(VIEW.request) : openCursor()
  };
  function middleTime() {
    return (VIEW.from + VIEW.to) / 2;
  }
  function keyed2(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
  function moveCursor(by) {
    TIMELINE.cursor = Math.max(0, Math.min(ROWS.length - 1, (TIMELINE.cursor ?? -1) + by));
    const row = ROWS[TIMELINE.cursor];
    const { scroller } = TIMELINE;
    if (row.top < scroller.scrollTop) scroller.scrollTop = row.top;
    if (row.top + row.height > scroller.scrollTop + TIMELINE.height)
      scroller.scrollTop = row.top + row.height - TIMELINE.height;
    announce(rowText(row));
    viewChanged();
  }
  function rowText(row) {
    if (row.kind === "cluster") return "Cluster";
    if (row.kind === "node") return [row.lane.label, ...row.lane.failing.map(stretchText)].join(", ");
    if (row.kind === "client")
      return `Client ${row.client.name}, ${words(row.client.kind)}, ${count(row.conns.length, "connection")}`;
    const requests = row.conn.n_requests === null ? "" : `, ${count(row.conn.n_requests, "request")}`;
    return `Connection to ${nodeName(row.conn.node_id)}, ${row.conn.to}${requests}`;
  }
  function openCursor() {
    const row = ROWS[TIMELINE.cursor ?? -1];
    if (row?.kind === "client") toggleClient(row.number);
  }
  function stepRequest(by) {
    const row = TIMELINE.cursor === void 0 ? ROWS.find(hasRequests) : ROWS[TIMELINE.cursor];
    if (!row || !hasRequests(row)) return;
    const found = besideInRow(row, by);
    if (found >= 0) select(found);
  }

  // drawing/pointer.ts
  var POINTERS = /* @__PURE__ */ new Map();
  function listenTimeline() {
    const { canvas } = TIMELINE;
    canvas.addEventListener("wheel", wheeled, { passive: false });
    canvas.addEventListener("pointerdown", pointerDown);
    canvas.addEventListener("pointermove", pointerMove);
    canvas.addEventListener("pointerup", pointerUp);
    canvas.addEventListener("pointercancel", pointerUp);
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("dblclick", (event) => zoom(0.4, timeAt(event)));
    canvas.addEventListener("keydown", keyed2);
    for (const kind of ["focus", "blur"]) canvas.addEventListener(kind, viewChanged);
  }
  function timeAt(event) {
    const x = event.clientX - TIMELINE.canvas.getBoundingClientRect().left;
    return VIEW.from + x / TIMELINE.width * (VIEW.to - VIEW.from);
  }
  function wheeled(event) {
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      event.preventDefault();
      return pan(sideways / TIMELINE.width);
    }
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== TIMELINE.canvas) return void 0;
    event.preventDefault();
    return zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 6e-3), timeAt(event));
  }
  function pointerDown(event) {
    TIMELINE.canvas.setPointerCapture(event.pointerId);
    TIMELINE.canvas.focus({ preventScroll: true });
    POINTERS.set(event.pointerId, event);
    TIMELINE.drag = {
      x: event.clientX,
      y: event.clientY,
      from: VIEW.from,
      moved: false,
      select: event.shiftKey ? timeAt(event) : null
    };
    if (POINTERS.size === 2) TIMELINE.pinch = pinchNow();
  }
  function pinchNow() {
    const [a, b] = [...POINTERS.values()];
    return { apart: Math.max(20, Math.abs(a.clientX - b.clientX)) };
  }
  function pointerMove(event) {
    if (!POINTERS.has(event.pointerId)) return hover(event);
    POINTERS.set(event.pointerId, event);
    if (POINTERS.size === 2) return pinched();
    const { drag } = TIMELINE;
    if (!drag) return void 0;
    const by = event.clientX - drag.x;
    if (Math.abs(by) > 3) drag.moved = true;
    if (!drag.moved || drag.select !== null) return void 0;
    hideTip();
    const length = VIEW.to - VIEW.from;
    const from = drag.from - by / TIMELINE.width * length;
    return setView(from, from + length);
  }
  function pinched() {
    const { pinch, drag } = TIMELINE;
    if (!pinch || !drag) return;
    const [a, b] = [...POINTERS.values()];
    const apart = Math.max(20, Math.abs(a.clientX - b.clientX));
    zoom(pinch.apart / apart, (timeAt(a) + timeAt(b)) / 2);
    pinch.apart = apart;
    drag.moved = true;
  }
  function pointerUp(event) {
    const { drag } = TIMELINE;
    const was = POINTERS.delete(event.pointerId);
    if (!was || !drag || POINTERS.size) return void 0;
    if (drag.select !== null && drag.moved) {
      const [from, to] = [drag.select, timeAt(event)].sort((a, b) => a - b);
      return setView(from, to);
    }
    return drag.moved || event.type === "pointercancel" ? void 0 : clicked(event);
  }
  function clicked(event) {
    const { row, n } = rowUnder(event);
    TIMELINE.cursor = n;
    const found = row ? nearest(row, timeAt(event), reachOf(4)) : -1;
    if (found >= 0) return openRequest(found);
    if (row && row.kind === "client") showClient(row.number, false);
    return viewChanged();
  }
  function rowUnder(event) {
    const y = event.clientY - TIMELINE.canvas.getBoundingClientRect().top + TIMELINE.scroller.scrollTop;
    const n = rowAt(y);
    return { row: ROWS[n], n };
  }
  function reachOf(pixels) {
    return pixels * (VIEW.to - VIEW.from) / TIMELINE.width;
  }
  function hover(event) {
    const { row } = rowUnder(event);
    const text = row ? hoverText(row, event) : null;
    if (!text) return hideTip();
    return showTip(text, event.clientX, event.clientY);
  }
  function hoverText(row, event) {
    const at = timeAt(event);
    if (row.kind === "cluster") return changesNear(at, reachOf(5));
    if (row.kind === "node") return nodeText(row.lane, at);
    const waits = waitsAt(row.kind === "conn" ? row.conn.client : row.number, at);
    const i = nearest(row, at, reachOf(4));
    if (i >= 0) return [...requestLines(i), ...waits];
    if (waits.length) return waits;
    const band = row.kind === "client" && (BANDS.get(row.number) || []).find((one) => one.from_ns <= at && at <= one.to);
    return band ? band.lines : null;
  }

  // drawing/service.ts
  function serviceSection() {
    return section("service", "Service levels, racks, security", levels(), racks(), security());
  }
  function more(n, shown, question) {
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
      ["Lag at the end", "num"]
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
      figure(one.lag_last)
    ]);
    return [
      hint("Available: minutes without a stall, of those in which records of the topic went."),
      table("Service levels by topic and group", columns, rows),
      more(n, rows.length, "slo")
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
      ["On the host of a broker"]
    ];
    const crossing = listed.map((one) => [
      one.client_id ?? "",
      one.client_ip ?? "",
      one.client_rack,
      one.broker_rack,
      bytes(one.bytes_sent),
      bytes(one.bytes_received),
      one.by_broker ? "yes" : "no"
    ]);
    const reading = readers.map((one) => [
      one.client_id ?? "",
      one.client_ip ?? "",
      one.rack,
      bytes(one.bytes_inside),
      bytes(one.bytes_outside),
      one.what
    ]);
    const of_reader = [["Client"], ["Address"], ["client.rack"], ["Read inside", "num"], ["Outside", "num"], ["Why"]];
    return [
      hint(`${bytes(STORY.racks.bytes)} went from one rack to another.`),
      n ? table("Bytes from one rack to another", columns, crossing) : null,
      more(n, listed.length, "cross-rack-bytes"),
      n_readers ? table("Consumers that say their rack", of_reader, reading) : null,
      more(n_readers, readers.length, "rack-readers")
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
      ["Weak, or denied"]
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
      [...one.weak, ...one.denied].join("; ")
    ]);
    const failed = `${count(n_failed_logins, "login")} failed, ${count(n_denied, "operation")} denied`;
    return [
      hint(`${count(n_plain_text, "connection")} in plain text; ${failed}.`),
      table("How clients connect", columns, rows),
      more(n, listed.length, "security-posture")
    ];
  }

  // drawing/incident_table.ts
  var MOST_ROWS2 = 20;
  var COLUMNS = [
    ["What and where"],
    ["Fault from", "num"],
    ["To", "num"],
    ["Served again after"],
    ["Who stalled"],
    ["Over"]
  ];
  function incidentTable(incidents2, show) {
    const rows = incidents2.map((one, n) => [
      [`${n + 1} `, button(one.title, () => show(one.incident_id), { class: "link" })],
      moment(one.fault_start),
      one.fault_end === null ? "not seen" : moment(one.fault_end),
      one.served_after,
      one.who,
      outcome(one.over ? "recovered" : "still_open", one.over_text)
    ]);
    const isBetween = incidents2.some((one) => one.fault_start.is_between || one.fault_end?.is_between);
    const others = rows.slice(MOST_ROWS2);
    return [
      table("Incidents, the most harm first", COLUMNS, rows.slice(0, MOST_ROWS2)),
      isBetween ? hint("a - b: between the two; no packet shows it more exactly.") : null,
      others.length ? details(`… and ${grouped(others.length)} more`, false, table("More incidents", COLUMNS, others)) : null
    ];
  }
  function moment(one) {
    return [one.at, el("span", { class: "wall" }, `${one.of_day} UTC`)];
  }

  // layout/state_grid.ts
  var GRID = { width: 1200, left: 250, right: 10, row: 17, title: 20, foot: 24 };
  function gridX(ns) {
    const share = END ? Math.max(0, Math.min(ns, END)) / END : 0;
    return GRID.left + share * (GRID.width - GRID.left - GRID.right);
  }
  function gridExtent(from, to) {
    const left2 = gridX(from);
    return [left2, Math.max(3, gridX(to ?? END) - left2)];
  }
  function incidentMarks(incidents2) {
    const ends = [];
    return incidents2.map((incident, n) => {
      const [left2, wide] = gridExtent(incident.fault_start.by_ns, incident.fault_end?.by_ns ?? incident.end_ns);
      const free = ends.findIndex((end) => end < left2);
      const level = free < 0 ? ends.length : free;
      ends[level] = left2 + wide + 14;
      return { incident, number: n + 1, left: left2, wide, level };
    });
  }
  function gridRows(grid, top) {
    let y = top;
    const servers = grid.servers.map((server) => {
      const title = y;
      y += GRID.title;
      const hosts = server.hosts.map((host) => {
        const place = { host, y };
        y += GRID.row;
        return place;
      });
      const more2 = server.more ? y : -1;
      if (server.more) y += GRID.row;
      y += 6;
      return { server, title, hosts, more: more2 };
    });
    return { servers, bottom: y };
  }

  // drawing/state_grid.ts
  var CALM = ["serving", "unknown"];
  var MOST_MARKS = 20;
  var MOST_ROWS3 = 500;
  var MARK = 14;
  var PATTERNS = {
    slow: "dots",
    lossy: "upright",
    delayed: "dots",
    mtu: "level",
    flow_dead: "level",
    frozen: "cross",
    down: "solid",
    silent: "falling",
    host_silent: "dots",
    flows_lost: "level",
    refusing: "rising",
    turned_away: "upright",
    not_accepting: "rising",
    unknown: "none"
  };
  function stateGrid(show) {
    const { servers, more: more2, n_failing } = STORY.state_grid;
    if (!servers.length) return null;
    const name = `States of ${servers.length} server addresses to the hosts that talked to them, over the capture; the table below says the same`;
    const marks = incidentMarks(STORY.incidents.listed.slice(0, MOST_MARKS));
    const top = 6 + MARK * (1 + Math.max(-1, ...marks.map((mark) => mark.level)));
    const { servers: rows, bottom } = gridRows(STORY.state_grid, top + 4);
    const drawn = [
      svg(
        "defs",
        {},
        STORY.state_grid.states.map(([state]) => pattern(state))
      ),
      marksOfTime(bottom),
      marks.length ? label("incidents", MARK - 2) : null,
      marks.map((mark) => incidentMark(mark, bottom, show)),
      rows.map((row) => [
        svg("text", { class: "strong", x: 4, y: row.title + 15 }, row.server.label),
        row.hosts.map(({ host, y }) => hostRow(host, y)),
        row.more < 0 ? null : svg("text", { class: "small", x: 14, y: row.more + 12 }, row.server.more)
      ])
    ];
    return details(
      "Brokers and hosts: who was served by whom",
      n_failing > 0 || marks.length > 0,
      picture("states", { width: GRID.width, height: bottom + GRID.foot, name }, drawn),
      legend2(),
      more2 ? hint(more2) : null,
      stretchTable()
    );
  }
  function label(text, y) {
    return svg("text", { class: "small", x: GRID.left - 8, y, "text-anchor": "end" }, text);
  }
  function marksOfTime(bottom) {
    return MARKS.map((share) => {
      const x = gridX(share * END);
      const place = { x, y: bottom + 14, "text-anchor": share === 1 ? "end" : share === 0 ? "start" : "middle" };
      return [svg("line", { class: "grid", x1: x, x2: x, y1: 4, y2: bottom }), svg("text", place, clock(share * END, 0))];
    });
  }
  function incidentMark({ incident, number, left: left2, wide, level }, bottom, show) {
    const y = 4 + level * MARK;
    const told = `${number}: ${incident.title}, ${incident.when}`;
    return svg(
      "g",
      { class: `mark ${incident.severity}`, onclick: () => show(incident.incident_id) },
      svg("title", {}, told),
      svg("rect", { class: "during", x: left2, y: y + MARK - 3, width: wide, height: bottom - y - MARK + 3 }),
      svg("rect", { class: "bar", x: left2, y, width: wide, height: MARK - 3 }),
      svg("text", { x: left2 + 2, y: y + 9 }, number)
    );
  }
  function hostRow(host, y) {
    return [
      label(`${host.host}${host.kind === "client" ? "" : ` (${host.kind})`}`, y + 12),
      svg("rect", {
        class: "lane",
        x: GRID.left,
        y: y + 1,
        width: GRID.width - GRID.left - GRID.right,
        height: GRID.row - 2
      }),
      host.stretches.map((stretch) => stretchBox(host, stretch, y))
    ];
  }
  function stretchBox(host, one, y) {
    const [left2, wide] = gridExtent(one.from_ns, one.to_ns);
    if (one.state === "serving") return svg("rect", { class: "served", x: left2, y: y + 7, width: wide, height: 3 });
    if (one.state === "unknown")
      return svg("line", { class: "unasked", x1: left2, x2: left2 + wide, y1: y + 8.5, y2: y + 8.5 });
    const told = `${one.words} to ${host.host}: ${one.text}`;
    const word = wide > 10 + 6.5 * one.words.length ? one.words : wide > 18 ? one.words.slice(0, 2) : "";
    return svg(
      "g",
      { class: `state ${one.state}` },
      svg("title", {}, told),
      svg("rect", { x: left2, y: y + 1, width: wide, height: GRID.row - 2, fill: `url(#state-${one.state})` }),
      word ? svg("text", { class: "word", x: left2 + 4, y: y + 12.5 }, word) : null
    );
  }
  function pattern(state) {
    const kind = PATTERNS[state] ?? "none";
    const strokes = (STROKES[kind] || []).map(([x, y, toX, toY]) => svg("line", { x1: x, y1: y, x2: toX, y2: toY }));
    if (kind === "dots") strokes.push(svg("rect", { class: "dot", x: 2, y: 2, width: 2.2, height: 2.2 }));
    const box = { id: `state-${state}`, class: `tile ${state}`, width: 6, height: 6, patternUnits: "userSpaceOnUse" };
    return svg(
      "pattern",
      box,
      svg("rect", { class: kind === "solid" ? "full" : "ground", width: 6, height: 6 }),
      strokes
    );
  }
  function legend2() {
    return el(
      "ul",
      { class: "legend" },
      STORY.state_grid.states.map(([state, words2]) => el("li", {}, swatch2(state), words2))
    );
  }
  function swatch2(state) {
    const box = { width: 26, height: 12, viewBox: "0 0 26 12", "aria-hidden": "true" };
    if (state === "serving") return svg("svg", box, svg("rect", { class: "served", y: 4, width: 26, height: 3 }));
    if (state === "unknown") return svg("svg", box, svg("line", { class: "unasked", x2: 26, y1: 6, y2: 6 }));
    const tile = svg("rect", { width: 26, height: 12, fill: `url(#state-${state})` });
    return svg("svg", box, svg("g", { class: `state ${state}` }, tile));
  }
  function stretchTable() {
    const rows = STORY.state_grid.servers.flatMap(
      (server) => server.hosts.flatMap(
        (host) => host.stretches.filter((one) => !CALM.includes(one.state)).map((one) => [server.label, host.host, one.words, one.text])
      )
    );
    if (!rows.length) return hint("Every host was served whenever it waited.");
    const left2 = rows.length - MOST_ROWS3;
    return details(
      `The same as a table (${rows.length})`,
      false,
      table(
        "States of servers other than served",
        [["Server"], ["Host"], ["State"], ["From and to"]],
        rows.slice(0, MOST_ROWS3)
      ),
      left2 > 0 ? hint(`… and ${left2} more: table stories/broker_states.`) : null
    );
  }

  // drawing/summary.ts
  var SEVERITIES = {
    error: ["✕", "error", "Error"],
    warning: ["!", "warning", "Warning"],
    info: ["i", "info", "Note"],
    none: ["✓", "good", "Ok"],
    unknown: ["?", "info", "Unknown"]
  };
  function summarySection() {
    return section("happened", "What happened", headline(), isNarrow() ? null : incidentsAndFindings());
  }
  function narrowSummary() {
    return isNarrow() ? section("incidents", "Incidents and findings", incidentsAndFindings()) : null;
  }
  function incidentsAndFindings() {
    return [incidentsBlock(), findingsBlock(), notesBlock(), commandsBlock()];
  }
  function severityTag(severity) {
    const [sign, tone, word] = SEVERITIES[severity] || SEVERITIES.info;
    return el("span", { class: `tag ${tone}` }, el("span", { "aria-hidden": "true" }, `${sign} `), word);
  }
  function headline() {
    const { verdict: verdict2, sentence, details: more2 } = STORY.headline;
    return el(
      "div",
      { class: "lead" },
      el("p", {}, severityTag(verdict2), " ", el("strong", { class: "sentence" }, sentence)),
      more2.map((one) => el("p", {}, one))
    );
  }
  function incidentsBlock() {
    const { n, listed, unassigned, n_unassigned, routine, routine_text } = STORY.incidents;
    const rest = n > listed.length ? hint(`The page has ${listed.length} of ${grouped(n)}; table stories/incidents has all.`) : null;
    return el(
      "div",
      { class: "incidents" },
      n ? el("h3", {}, `Incidents (${grouped(n)})`) : null,
      n ? incidentTable(listed, showIncident) : null,
      stateGrid(showIncident),
      listed.map((incident, place) => incidentCard(incident, place === 0)),
      rest,
      unassigned.length ? [el("h3", {}, "Stalls that belong to no incident"), waitTable(unassigned, n_unassigned)] : null,
      routine.length ? details(
        routine_text,
        false,
        routine.map((incident) => incidentCard(incident, false))
      ) : null
    );
  }
  function showIncident(id) {
    const card = document.querySelector(`details[data-incident="${id}"]`);
    if (!card) return;
    card.open = true;
    card.scrollIntoView({ block: "start" });
    card.querySelector("summary")?.focus({ preventScroll: true });
  }
  function incidentCard(incident, isFirst) {
    const [, tone] = SEVERITIES[incident.severity];
    const head = el(
      "summary",
      {},
      severityTag(incident.severity),
      el("strong", { class: "title" }, incident.title),
      el("span", { class: "time" }, incident.when)
    );
    const made = el("details", { class: `incident ${tone}`, open: isFirst || incident.severity === "error" }, head);
    made.dataset.incident = incident.incident_id;
    return filledWhenOpen(made, () => incidentBody(incident));
  }
  function incidentBody(incident) {
    const end = incident.end_ns ?? END;
    return el(
      "div",
      { class: "body" },
      el("p", {}, incident.sentence),
      incident.waits.length ? waitTable(incident.waits, incident.n_waits) : null,
      courseTable(incident),
      incident.restarts.map((text) => el("p", {}, el("strong", {}, "Restart: "), text)),
      followedBlock(incident),
      incident.actions.map((one) => el("p", {}, el("strong", {}, `What to do, ${one.owner}: `), one.text)),
      incident.how_known ? el("p", { class: "quiet" }, `Shown by: ${incident.how_known}`) : null,
      el("p", { class: "quiet" }, "Id for commands: ", el("code", {}, incident.incident_id)),
      details(
        `Evidence: ${incident.packets || "no packets"}`,
        false,
        evidenceTable(
          incident.evidence.map((proof) => proof.id),
          "Evidence of the incident"
        )
      ),
      el(
        "p",
        { class: "row" },
        button(
          "Show in timeline",
          () => {
            showStretch(incident.start_ns, Math.max(end, incident.start_ns + 1e7));
            jump("timeline");
          },
          { class: "small" }
        )
      )
    );
  }
  function waitTable(waits, n) {
    const columns = [["Client"], ["Waited for"], ["From", "num"], ["For", "num"], ["State"], ["Errors"], [""]];
    const lines2 = waits.map((wait) => {
      const place = clientPlace(wait.client_instance_id ?? "");
      return [
        place >= 0 ? button(wait.who, () => showClient(place, true), { class: "link" }) : wait.who,
        wait.what,
        [wait.at, el("span", { class: "wall" }, wait.of_day)],
        wait.lasted,
        outcome(wait.outcome, wait.state),
        wait.error_names.join(", "),
        button(
          "Show",
          () => {
            showStretch(wait.from_ns, wait.to_ns ?? END);
            jump("timeline");
          },
          { class: "small", "aria-label": `Show in the timeline how ${wait.who} waited` }
        )
      ];
    });
    const [first, others] = [lines2.slice(0, STORY.first_waits), lines2.slice(STORY.first_waits)];
    const left2 = n > waits.length ? hint(`… and ${grouped(n - waits.length)} more: table stories/stalls has all.`) : null;
    return [
      table("Who stalled", columns, first),
      others.length ? details(`… and ${grouped(n - first.length)} more`, false, table("Who stalled too", columns, others), left2) : null
    ];
  }
  function courseTable({ course }) {
    const rows = course.map((one) => [one.step, one.at, one.of_day, one.what, one.packet_no ?? ""]);
    const columns = [["Step"], ["At", "num"], ["UTC", "num"], ["What"], ["Packet", "num"]];
    return rows.length ? table("Its course", columns, rows) : null;
  }
  function followedBlock(incident) {
    if (!incident.followed.length) return null;
    const under = STORY.findings.listed.filter((finding) => incident.finding_ids.includes(finding.finding_id));
    const lists = incident.followed.filter((part) => part.kind !== "findings").map((part) => [
      el("h5", {}, part.text),
      el(
        "ul",
        { class: "plain" },
        part.sentences.map((sentence, n) => followedItem(part, sentence, n))
      )
    ]);
    return details(`What followed: ${incident.followed_text}`, false, lists, under.map(findingCard));
  }
  function followedItem(part, sentence, n) {
    if (part.kind !== "recoveries") return el("li", {}, sentence);
    return el(
      "li",
      {},
      button(sentence, () => showEpisode(part.ids[n]), { class: "link" })
    );
  }
  function findingsBlock() {
    const { present, n, listed, why_not, title, alone } = STORY.findings;
    if (!present) return el("div", {}, el("h3", {}, title), hint(why_not));
    const rest = n > listed.length ? hint(`The page has ${grouped(listed.length)} of ${grouped(n)}; table stories/findings has all.`) : null;
    if (!alone.length && !rest) return null;
    return el(
      "div",
      { class: "findings" },
      el("h3", {}, title),
      alone.map((place) => findingCard(listed[place])),
      rest
    );
  }
  function notesBlock() {
    const { listed, notes_title, notes } = STORY.findings;
    return notes.length ? details(
      notes_title,
      false,
      notes.map((place) => findingCard(listed[place]))
    ) : null;
  }
  function findingCard(finding) {
    const [, tone] = SEVERITIES[finding.severity] || SEVERITIES.info;
    const head = el(
      "summary",
      {},
      severityTag(finding.severity),
      el("span", { class: "sentence" }, finding.sentence),
      el("span", { class: "time" }, finding.first_ns === null ? "" : clock(finding.first_ns))
    );
    const open = finding.severity === "error" && finding.incident_id === null;
    return filledWhenOpen(el("details", { class: `finding ${tone}`, open }, head), () => findingBody(finding));
  }
  function findingBody(finding) {
    const client = clientPlace(finding.client_instance_id ?? "");
    const first = finding.first_ns;
    const rest = finding.n_evidence > finding.evidence.length ? hint(`… and ${finding.n_evidence - finding.evidence.length} more in table stories/findings.`) : null;
    return el(
      "div",
      { class: "body" },
      finding.sentences.length ? el(
        "ul",
        {},
        finding.sentences.map((one) => el("li", {}, one))
      ) : null,
      el("p", {}, el("strong", {}, "What to do: "), finding.advice || ""),
      el(
        "p",
        { class: "quiet" },
        `${finding.when}. Rule ${finding.rule}${finding.subject ? `, about ${finding.subject}` : ""}.`
      ),
      evidenceTable([...finding.evidence.map((proof) => proof.id), ...finding.conn_ids], "Evidence"),
      rest,
      el(
        "p",
        { class: "row" },
        client >= 0 ? button(`Client ${STORY.lanes.clients[client].name}`, () => showClient(client, true), { class: "small" }) : null,
        first === null ? null : button(
          "Show in timeline",
          () => {
            showStretch(first, Math.max(finding.last_ns ?? first, first + 1e7));
            jump("timeline");
          },
          { class: "small" }
        )
      ),
      el("p", { class: "quiet" }, "Id for commands: ", el("code", {}, finding.finding_id))
    );
  }
  function commandsBlock() {
    const { explain, cut, wireshark, likewise } = STORY.commands;
    if (!explain) return null;
    return el(
      "div",
      { class: "commands" },
      el("h3", {}, "To read on, and to see the packets"),
      [explain, cut, wireshark].map((text) => el("p", {}, command(text))),
      hint(likewise)
    );
  }

  // layout/cluster_picture.ts
  var MOST_PICTURED = 24;
  function clusterPicture(state) {
    const clients = [...new Set(state.links.map((link) => link.client))].sort((a, b) => a - b);
    const shown = clients.slice(0, MOST_PICTURED);
    const known = STORY.topology.brokers.map((broker) => broker.node_id);
    const nodes = [.../* @__PURE__ */ new Set([...known, ...state.links.map((link) => link.node)])].slice(0, MOST_PICTURED);
    const height = Math.max(shown.length * 30, nodes.length * 74, 100) + 20;
    const clientY = (n) => (n + 0.5) * (height - 20) / Math.max(1, shown.length) + 10;
    const nodeY = (n) => (n + 0.5) * (height - 20) / Math.max(1, nodes.length) + 10;
    return { clients, shown, nodes, height, clientY, nodeY };
  }

  // drawing/topology.ts
  function topologySection() {
    const slider = el("input", {
      type: "range",
      id: "moment",
      min: 0,
      max: 1e3,
      value: 500,
      "aria-describedby": "moment-text",
      oninput: () => showMoment(Number(slider.value) / 1e3 * END)
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
        button("Next change ▸", () => toChange(1), extra)
      ),
      el("div", { id: "topology" }),
      restartsTable(),
      changesTable()
    );
  }
  function startMoment() {
    showMoment(VIEW.at ?? END / 2);
  }
  function toChange(by) {
    const times = STORY.topology.changes.map((change) => change.ts_ns);
    const at = VIEW.at ?? 0;
    const next = by > 0 ? times.find((ns) => ns > at + 1) : times.findLast((ns) => ns < at - 1);
    if (next !== void 0) showMoment(next);
  }
  function showMoment(ns) {
    VIEW.at = ns;
    byId("moment").value = String(Math.round(ns / END * 1e3));
    byId("moment-text").textContent = clock(ns);
    const state = stateAt(ns, VIEW.brokers);
    replace(
      byId("topology"),
      topologyPicture(state),
      details("Table of the moment", false, momentTable(state)),
      details("Who led what", false, ownersTable(ns))
    );
    viewChanged();
  }
  function topologyPicture(state) {
    const { clients, shown, nodes, height, clientY, nodeY } = clusterPicture(state);
    const links = state.links.filter((link) => shown.includes(link.client) && nodes.includes(link.node)).map((link) => linkLine(link, clientY(shown.indexOf(link.client)), nodeY(nodes.indexOf(link.node))));
    const left2 = shown.map((number, n) => clientBox(number, clientY(n)));
    const right = nodes.map((node, n) => brokerBox(node, nodeY(n), state));
    const rest = clients.length > shown.length ? hint(`The picture has ${shown.length} of ${clients.length} clients; the table has all.`) : null;
    const name = "Clients and brokers at the moment; the table below says the same";
    const key = "Lines: solid for records, dashes for a group, dash and dot for transactions, dots for discovery.";
    return [picture("topology", { width: 960, height, name }, links, left2, right), hint(key), rest];
  }
  function clientBox(number, y) {
    const name = STORY.lanes.clients[number].name;
    return svg(
      "g",
      {},
      svg("rect", { class: "client-box", x: 4, y: y - 12, width: 230, height: 24, rx: 12 }),
      svg("text", { x: 119, y: y + 4, "text-anchor": "middle" }, shortened(name, 32))
    );
  }
  function brokerBox(node, y, state) {
    const gone = typeof node === "number" && isGone(node, state.ns);
    const led = state.led.get(node) || {};
    const does = Object.entries(led).map(([kind, n]) => `${n} ${kind === "leader" ? "led" : words(kind)}`).join(", ");
    const broker = STORY.topology.brokers.find((one) => one.node_id === node);
    return svg(
      "g",
      { class: gone ? "gone" : "" },
      svg("rect", { class: "broker-box", x: 700, y: y - 26, width: 254, height: 52, rx: 5 }),
      svg(
        "text",
        { class: "strong", x: 712, y: y - 7 },
        `${typeof node === "number" ? nodeName(node) : node}${gone ? " ✕ gone" : ""}${broker?.rack ? ` · ${broker.rack}` : ""}`
      ),
      svg("text", { class: "small", x: 712, y: y + 14 }, shortened(does || (broker?.addresses[0] ?? ""), 44))
    );
  }
  function linkLine(link, fromY, toY) {
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
        svg("title", {}, `${roles.map(words).join(", ") || "no role yet"}, ${count(link.n, "connection")}`)
      )
    );
  }
  function momentTable(state) {
    const columns = [["Client"], ["Broker"], ["Roles"], ["Connections", "num"]];
    const rows = state.links.map((link) => [
      STORY.lanes.clients[link.client].name,
      typeof link.node === "number" ? nodeName(link.node) : link.node,
      [...link.roles.keys()].map(words).join(", ") || "none yet",
      link.n
    ]);
    return table(`Connections open at ${clock(state.ns)}`, columns, rows);
  }
  function ownersTable(ns) {
    const columns = [["Subject"], ["What"], ["Node"], ["Since", "num"], ["Owners in the capture"]];
    const rows = STORY.topology.owners.slice(0, 300).map((owner) => {
      const place = owner.since_ns.findLastIndex((since) => since <= ns);
      return [
        owner.subject,
        owner.kind,
        place < 0 ? "not known yet" : nodeName(owner.node_ids[place]),
        place < 0 ? "" : clock(owner.since_ns[place]),
        owner.node_ids.map((node) => node ?? "none").join(" → ")
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
    const { changes: changes2, n_changes } = STORY.topology;
    if (!changes2.length) return hint("No leader, coordinator or broker changed in the capture.");
    const columns = [["Time", "num"], ["What changed"], ["Reported by"], ["Packet", "num"], [""]];
    const rows = changes2.slice(0, 300).map((change) => [
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
        { class: "small", "aria-label": `Look at the cluster at ${clock(change.ts_ns)}` }
      )
    ]);
    return details(
      `All ${count(n_changes, "change")} of leaders, coordinators and brokers`,
      false,
      table("Changes of the cluster", columns, rows)
    );
  }

  // drawing/transactions.ts
  function transactionsSection() {
    const { present, listed, n, ids } = STORY.transactions;
    if (!present)
      return section(
        "transactions",
        "Transactions",
        hint("This dataset has no table of transactions: it was made before there was one, or without stories.")
      );
    if (!n) return section("transactions", "Transactions", el("p", {}, "No transaction is in the capture."));
    return section(
      "transactions",
      "Transactions",
      transactionPicture(ids.slice(0, MOST_GROUPS)),
      details("Table of the transactions", false, transactionTable(listed.slice(0, 300))),
      n > 300 ? hint(`The table has the first 300 of ${grouped(n)}.`) : null
    );
  }
  function transactionPicture(ids) {
    const { listed, outcomes } = STORY.transactions;
    const height = ids.length * 20 + 40;
    const lines2 = ids.map(({ name: name2, places }, n) => [
      groupName(name2, 18 + n * 20),
      places.map((place) => transactionBar(listed[place], n))
    ]);
    const ended = Object.entries(outcomes).filter(([, n]) => n > 0);
    const summary2 = ended.map(([name2, n]) => [outcome(name2, `${grouped(n)} ${words(name2)}`), " "]);
    const name = "Transactions over the time of the capture; the table below says the same";
    return [
      el("p", {}, summary2),
      picture("group", { width: 960, height, name }, groupMarks(height), lines2),
      hint("Low solid: committed. Tall striped: aborted. Tall with a thick frame: fenced, hanging or still open.")
    ];
  }
  function transactionBar(one, n) {
    const low = one.outcome === "committed";
    const x = groupX(one.begin_ns ?? 0);
    const width = Math.max(2, groupX(one.end_ns ?? END) - x);
    const box = { class: `transaction ${one.outcome}`, x, y: (low ? 9 : 6) + n * 20, width, height: low ? 8 : 14 };
    return svg("rect", box, svg("title", {}, `${words(one.outcome)} ${clock(one.begin_ns ?? 0)}`));
  }
  function transactionTable(listed) {
    const columns = [
      ["Transactional id"],
      ["Begin", "num"],
      ["Took", "num"],
      ["Outcome"],
      ["Ended by"],
      ["Producer", "num"],
      ["Partitions"],
      ["Records", "num"],
      ["Fenced by"],
      ["Held back"],
      ["Packets", "num"]
    ];
    const rows = listed.map((one) => [
      one.transactional_id ?? "?",
      clock(one.begin_ns),
      one.took,
      outcome(one.outcome ?? "open"),
      words(one.end_kind),
      `${one.producer_id ?? "?"} epoch ${one.producer_epoch ?? "?"}`,
      listOf((one.partitions || []).map(String), 3),
      one.n_records ?? "",
      one.fenced_by_name,
      one.held_back_text,
      packetLinks((one.evidence || []).slice(0, 3))
    ]);
    return table("Transactions", columns, rows);
  }

  // start.ts
  async function start() {
    const waiting = el("p", { class: "waiting", role: "status" }, "Unpacking the report …");
    document.body.append(waiting);
    try {
      const comparison = await loadComparison();
      if (comparison) return showComparison(comparison, waiting);
      await loadData();
    } catch (error) {
      waiting.textContent = `The report cannot be unpacked here (${error}). It needs Chromium 103, Firefox 113, Safari 16.4 or newer.`;
      return;
    }
    prepareBands();
    prepareWaits();
    VIEW.brokers = STORY.lanes.clients.every((client) => client.kind === "broker");
    waiting.remove();
    build();
    readFragment();
    showFilter();
    computeFilter();
    layRows();
    resized();
    applyFilter();
    startMoment();
    listen();
    showFirst();
    document.documentElement.dataset.ready = "1";
  }
  function showComparison(comparison, waiting) {
    waiting.remove();
    document.body.append(
      comparisonHead(comparison),
      comparisonSections(comparison),
      el("div", { id: "announcer", class: "unseen", "aria-live": "polite" })
    );
    document.documentElement.dataset.ready = "1";
  }
  function build() {
    document.body.append(
      el("a", { class: "skip", href: "#happened" }, "Skip to what happened"),
      pageHead(),
      navigation(),
      el(
        "main",
        {},
        summarySection(),
        timelineSection(),
        narrowSummary(),
        clientsSection(),
        topologySection(),
        groupsSection(),
        transactionsSection(),
        flowSection(),
        latencySection(),
        serviceSection(),
        captureSection()
      ),
      requestPanel(showClient),
      el("div", { id: "announcer", class: "unseen", "aria-live": "polite" })
    );
  }
  function listen() {
    drawOnFrames(drawTimeline, drawMinimap, drawRates, inViewLater);
    keepFragment();
    listenTimeline();
    let pending = 0;
    new ResizeObserver(() => {
      clearTimeout(pending);
      pending = window.setTimeout(resized, 60);
    }).observe(TIMELINE.scroller.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", resized);
    window.addEventListener("hashchange", followLink);
    window.addEventListener("keydown", (event) => event.key === "Escape" && !byId("panel").hidden && closePanel());
    window.addEventListener(
      "beforeprint",
      () => document.querySelectorAll("details.incident, details.finding").forEach((one) => {
        one.open = true;
      })
    );
  }
  function followLink() {
    readFragment();
    showFilter();
    applyFilter();
    if (VIEW.request >= 0) openRequest(VIEW.request);
  }
  function showFirst() {
    const number = VIEW.client >= 0 ? VIEW.client : clientPlace(STORY.first_client);
    if (number >= 0) showClient(number, false);
    if (VIEW.request >= 0) openRequest(VIEW.request);
  }
  start();
})();
