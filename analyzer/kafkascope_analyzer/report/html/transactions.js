// Transactions: a line for each transactional id on the capture's time, and a table.

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
  const height = ids.length * 20 + 40;
  const lines = ids.map(([id, mine], n) => [groupName(id, 18 + n * 20), mine.map((one) => transactionBar(one, n))]);
  const ends = by(ids.flatMap(([, mine]) => mine), "outcome");
  const said = [...ends.entries()].map(([name, mine]) => [outcome(name, `${mine.length} ${words(name)}`), " "]);
  const name = "Transactions over the time of the capture; the table below says the same";
  return [
    el("p", {}, said),
    picture("group", { width: 960, height, name }, groupMarks(height), lines),
    hint("Low solid: committed. Tall striped: aborted. Tall with a thick frame: fenced, hanging or still open."),
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
