// Transactions: a line for each transactional id on the capture's time, and a table.

import { END, STORY } from "../facts/data.ts";
import { clock, grouped, listOf, words } from "../facts/figures.ts";
import type { Transaction } from "../facts/story.d.ts";
import { groupX } from "../layout/capture_scale.ts";
import { groupMarks, groupName, MOST_GROUPS } from "./capture_scale.ts";
import { details, el, hint, picture, section, svg } from "./dom.ts";
import { packetLinks } from "./evidence.ts";
import { outcome } from "./signs.ts";
import { table } from "./table.ts";

export function transactionsSection() {
  const { present, listed, n, ids } = STORY.transactions;
  if (!present)
    return section(
      "transactions",
      "Transactions",
      hint("This dataset has no table of transactions: it was made before there was one, or without stories."),
    );
  if (!n) return section("transactions", "Transactions", el("p", {}, "No transaction is in the capture."));
  return section(
    "transactions",
    "Transactions",
    transactionPicture(ids.slice(0, MOST_GROUPS)),
    details("Table of the transactions", false, transactionTable(listed.slice(0, 300))),
    n > 300 ? hint(`The table has the first 300 of ${grouped(n)}.`) : null,
  );
}

// A line for each transactional id; a transaction's height and pattern say how it ended.
function transactionPicture(ids: { name: string; places: number[] }[]) {
  const { listed, outcomes } = STORY.transactions;
  const height = ids.length * 20 + 40;
  const lines = ids.map(({ name, places }, n) => [
    groupName(name, 18 + n * 20),
    places.map((place) => transactionBar(listed[place], n)),
  ]);
  const ended = Object.entries(outcomes).filter(([, n]) => n > 0);
  const summary = ended.map(([name, n]) => [outcome(name, `${grouped(n)} ${words(name)}`), " "]);
  const name = "Transactions over the time of the capture; the table below says the same";
  return [
    el("p", {}, summary),
    picture("group", { width: 960, height, name }, groupMarks(height), lines),
    hint("Low solid: committed. Tall striped: aborted. Tall with a thick frame: fenced, hanging or still open."),
  ];
}

function transactionBar(one: Transaction, n: number) {
  const low = one.outcome === "committed";
  const x = groupX(one.begin_ns ?? 0);
  const width = Math.max(2, groupX(one.end_ns ?? END) - x);
  const box = { class: `transaction ${one.outcome}`, x, y: (low ? 9 : 6) + n * 20, width, height: low ? 8 : 14 };
  return svg("rect", box, svg("title", {}, `${words(one.outcome)} ${clock(one.begin_ns ?? 0)}`));
}

function transactionTable(listed: Transaction[]) {
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
    one.took,
    outcome(one.outcome ?? "open"),
    words(one.end_kind),
    `${one.producer_id ?? "?"} epoch ${one.producer_epoch ?? "?"}`,
    listOf((one.partitions || []).map(String), 3),
    one.n_records ?? "",
    one.fenced_by_name,
    one.held_back_text,
    packetLinks((one.evidence || []).slice(0, 3)),
  ]);
  return table("Transactions", columns, rows);
}
