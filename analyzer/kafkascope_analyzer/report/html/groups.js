// Groups: each rebalance as a bar on the capture's time, each member's wait under it. Transactions: by transactional
// id.

const GROUP_LANE = 15;
const MOST_GROUPS = 30;

function by(rows, key) {
  const found = new Map();
  for (const row of rows) found.set(row[key] ?? "?", [...(found.get(row[key] ?? "?") || []), row]);
  return found;
}

function groupsSection() {
  const { present, listed, n } = STORY.rebalances;
  if (!present) return section(
    "groups",
    "Groups",
    hint("This dataset has no table of rebalances: it was made before there was one, or without stories."),
  );
  if (!n) return section("groups", "Groups", el("p", {}, "No group rebalanced in the capture."));
  const groups = [...by(listed, "group_id").entries()].sort((a, b) => b[1].length - a[1].length
    || (a[0] < b[0] ? -1 : 1));
  const more = groups.length > MOST_GROUPS
    ? hint(`… and ${groups.length - MOST_GROUPS} more groups (table stories/rebalances).`)
    : null;
  return section(
    "groups",
    "Groups",
    groups.slice(0, MOST_GROUPS).map(([name, rebalances], n) => groupBlock(name, rebalances, n < 4)),
    more,
  );
}

function groupBlock(name, rebalances, open) {
  const stopped = rebalances.reduce((sum, one) => sum + (one.duration_ms || 0), 0);
  const title = [
    el("strong", {}, name),
    ` · ${words(rebalances[0].group_protocol)} · ${count(rebalances.length, "rebalance")}, ${span(stopped * 1000)} in all`,
  ];
  return details(
    title,
    open,
    groupPicture(rebalances),
    hint(
      "Outlined: from a member’s join to its assignment; ▸ the last to join; solid: its partitions were not read.",
    ),
    details("Table of the rebalances", false, rebalanceTable(rebalances)),
  );
}

// One line for the rebalances, one for each member: from its join to its sync, the time that it could not work.
function groupPicture(rebalances) {
  const members = [...new Map(rebalances.flatMap((one) => one.members
    || []).map((member) => [memberKey(member), member])).values()].slice(0, 40);
  const x = (ns) => 220 + (Math.max(0, Math.min(ns, END)) / END) * 730;
  const height = (members.length + 1) * GROUP_LANE + 46;
  const marks = [0, 0.25, 0.5, 0.75, 1].map((share) => [
    svg("line", { class: "grid", x1: x(share * END), x2: x(share * END), y1: 4, y2: height - 20 }),
    svg(
      "text",
      { x: x(share * END), y: height - 6, "text-anchor": share === 1 ? "end" : "middle" },
      clock(share * END, 0),
    ),
  ]);
  const bars = rebalances.map((one) => svg(
    "g",
    {},
    svg(
      "rect",
      {
        class: "rebalance",
        x: x(one.start_ns),
        y: 6,
        width: Math.max(3, x(one.end_ns ?? END) - x(one.start_ns)),
        height: 12,
      },
    ),
    svg("text", { class: "small", x: x(one.start_ns) + 1, y: 29 }, `${one.generation ?? ""}`),
  ));
  const names = members.map((member, n) => svg(
    "text",
    { x: 212, y: 46 + n * GROUP_LANE, "text-anchor": "end" },
    shortened(memberName(member), 36),
  ));
  const waits = rebalances.flatMap((one) => (one.members
    || []).map((member) => memberWait(one, member, { x, members })));
  return svg(
    "svg",
    {
      class: "group",
      viewBox: `0 0 960 ${height}`,
      role: "img",
      "aria-label": `${count(rebalances.length, "rebalance")} over the time of the capture; the table below says the same`,
    },
    marks,
    svg("text", { x: 212, y: 17, "text-anchor": "end" }, "rebalances (generation below)"),
    bars,
    names,
    waits,
  );
}

function memberKey(member) {
  return member.client_instance_id || member.member_id;
}

function memberName(member) {
  const place = clientPlace(member.client_instance_id ?? "");
  return place >= 0 ? clientName(STORY.lanes.clients[place]) : member.member_id || "?";
}

// From join to assignment: outlined; the time that its partitions were not read: solid.
function memberWait(rebalance, member, { x, members }) {
  const n = members.findIndex((one) => memberKey(one) === memberKey(member));
  if (n < 0 || member.joined_ns === null) return null;
  const y = 37 + n * GROUP_LANE;
  const to = member.synced_ns ?? rebalance.end_ns ?? member.joined_ns;
  const stop = member.stopped_ms ? to - member.stopped_ms * 1e6 : null;
  const last = rebalance.last_joiner
    && (rebalance.last_joiner === member.member_id || rebalance.last_joiner === member.client_instance_id);
  return svg(
    "g",
    {},
    stop === null ? null : svg(
      "rect",
      { class: "stopped", x: x(stop), y: y + 2, width: Math.max(1.5, x(to) - x(stop)), height: 6 },
    ),
    svg(
      "rect",
      { class: "joining", x: x(member.joined_ns), y, width: Math.max(2, x(to) - x(member.joined_ns)), height: 10 },
    ),
    last ? svg("path", { class: "tip-last", d: `M ${x(member.joined_ns)} ${y - 1} l 5 6 l -5 6 z` }) : null,
  );
}

function rebalanceTable(rebalances) {
  const columns = [
    ["Generation", "num"],
    ["From", "num"],
    ["Took", "num"],
    ["Trigger"],
    ["Members", "num"],
    ["Last joiner"],
    ["Longest stop", "num"],
    ["Left it"],
    ["Coordinator"],
    ["Packets", "num"],
  ];
  const rows = rebalances.map((one) => {
    const last = (one.members
      || []).find((member) => member.member_id === one.last_joiner
      || member.client_instance_id === one.last_joiner);
    const stop = (one.members || []).reduce((most, member) => Math.max(most, member.stopped_ms ?? 0), 0);
    return [
      one.generation ?? "",
      clock(one.start_ns),
      one.duration_ms === null ? "" : span(one.duration_ms * 1000),
      [words(one.trigger), one.trigger_why ? `: ${one.trigger_why}` : ""],
      one.n_members ?? "",
      last ? memberName(last) : one.last_joiner ?? "",
      span(stop * 1000),
      (one.departed || []).map(departedText).join("; "),
      nodeName(one.node_id),
      packetLinks((one.evidence || []).slice(0, 3)),
    ];
  });
  return table("Rebalances", columns, rows);
}

function departedText(one) {
  return `${one.client_id || memberName(one)} ${words(one.how)}${one.silent_ms ? ` after ${span(one.silent_ms * 1000)} of silence` : ""}`;
}

function transactionsSection() {
  const { present, listed, n } = STORY.transactions;
  if (!present) return section(
    "transactions",
    "Transactions",
    hint("This dataset has no table of transactions: it was made before there was one, or without stories."),
  );
  if (!n) return section("transactions", "Transactions", el("p", {}, "No transaction is in the capture."));
  const ids = [...by(listed, "transactional_id").entries()].sort((a, b) => (a[0] < b[0] ? -1 : 1));
  return section(
    "transactions",
    "Transactions",
    transactionPicture(ids.slice(0, MOST_GROUPS)),
    details("Table of the transactions", false, transactionTable(listed.slice(0, 300))),
    n > 300 ? hint(`The table has the first 300 of ${grouped(n)}.`) : null,
  );
}

// A line for each transactional id; a transaction's height and pattern say how it ended.
function transactionPicture(ids) {
  const x = (ns) => 220 + (Math.max(0, Math.min(ns, END)) / END) * 730;
  const height = ids.length * 20 + 40;
  const lines = ids.map(([id, mine], n) => [svg(
    "text",
    { x: 212, y: 18 + n * 20, "text-anchor": "end" },
    shortened(id, 36),
  ), mine.map((one) => {
    const from = one.begin_ns ?? 0;
    return svg(
      "rect",
      {
        class: `transaction ${one.outcome}`,
        x: x(from),
        y: (one.outcome === "committed" ? 9 : 6) + n * 20,
        width: Math.max(2, x(one.end_ns ?? END) - x(from)),
        height: one.outcome === "committed" ? 8 : 14,
      },
      svg("title", {}, `${words(one.outcome)} ${clock(from)}`),
    );
  })]);
  const marks = [0, 0.5, 1].map((share) => svg(
    "text",
    { x: x(share * END), y: height - 6, "text-anchor": share === 1 ? "end" : "middle" },
    clock(share * END, 0),
  ));
  const said = [...by(ids.flatMap(([, mine]) => mine), "outcome").entries()].map(([name, mine]) => [
    outcome(name, `${mine.length} ${words(name)}`),
    " ",
  ]);
  return [
    el("p", {}, said),
    svg(
      "svg",
      {
        class: "group",
        viewBox: `0 0 960 ${height}`,
        role: "img",
        "aria-label": "Transactions over the time of the capture; the table below says the same",
      },
      lines,
      marks,
    ),
    hint("Low solid: committed. Tall striped: aborted. Tall with a thick frame: fenced, hanging or still open."),
  ];
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
    ["Packets", "num"],
  ];
  const rows = listed.map((one) => [
    one.transactional_id ?? "?",
    clock(one.begin_ns),
    one.end_ns === null || one.begin_ns === null ? "" : span((one.end_ns - one.begin_ns) / 1000),
    outcome(one.outcome),
    words(one.end_kind),
    `${one.producer_id ?? "?"} epoch ${one.producer_epoch ?? "?"}`,
    listOf(one.partitions || [], 3),
    one.n_records ?? "",
    fencedBy(one),
    (one.held_back || []).map(heldBack).join("; "),
    packetLinks((one.evidence || []).slice(0, 3)),
  ]);
  return table("Transactions", columns, rows);
}

function fencedBy(one) {
  const place = clientPlace(one.fenced_by ?? "");
  return place >= 0 ? clientName(STORY.lanes.clients[place]) : one.fenced_by ?? "";
}

function heldBack(one) {
  const place = clientPlace(one.client_instance_id ?? "");
  return `${place >= 0 ? clientName(STORY.lanes.clients[place]) : "a consumer"} on ${one.partition} for ${span((one.until_ns - one.from_ns) / 1000)}`;
}
