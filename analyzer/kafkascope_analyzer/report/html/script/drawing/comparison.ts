// The page of `kafkascope diff`: two captures side by side, then what is new, gone, worse or better, in tables.

import { count, figure, grouped, nodeName, span, words } from "../facts/figures.ts";
import type { ClientKind, Comparison, LatencyChange, Side, StartChange, StepChange } from "../facts/story.d.ts";
import { brand, type Child, details, el, hint, section } from "./dom.ts";
import { table } from "./table.ts";

const MOST_ROWS = 500;
const SAME = "same";
const MS = 1000;

export function comparisonHead({ before, after }: Comparison) {
  return el("header", {}, brand(`${before.name} and ${after.name}`, "kafkascope diff"));
}

export function comparisonSections(model: Comparison) {
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
        "From the last byte of the request to the first byte of the answer; without requests that are meant to wait.",
      ),
      latency("Latency by API", model.latency, model.worse),
      latency("Latency by API and broker", model.latency_by_broker, model.worse),
    ),
    section("more", "Errors, rebalances, versions", errors(model), rebalances(model), versions(model)),
  );
}

function sides({ before, after }: Comparison) {
  const row = (what: string, of: (side: Side) => Child) => [what, of(before), of(after)];
  const rows = [
    row("begins", (side) => side.start ?? ""),
    row("lasts", (side) => span(side.duration_us)),
    row("clients", (side) => grouped(side.n_clients)),
    row("requests", (side) => grouped(side.n_requests)),
    row("incidents", (side) => grouped(side.n_incidents)),
    row("clients that stalled", (side) => grouped(side.n_stalled_clients)),
  ];
  return table("The two captures", [[""], ["Before", "num"], ["After", "num"]], rows);
}

function summary({ matched, n_slower, n_faster }: Comparison) {
  const kinds = count(matched.length, "kind");
  return el("p", { class: "lead" }, `${kinds} of client in both: ${n_slower} slower, ${n_faster} faster.`);
}

// The verdict by word and by a sign, never by colour alone.
function verdict(word: string, worse: string[]) {
  const kind = word === SAME ? "quiet" : worse.includes(word) ? "worse" : "better";
  const sign = { quiet: "=", worse: "▲", better: "▼" }[kind];
  return el("span", { class: `verdict ${kind}` }, `${sign} ${word}`);
}

// A table of what changed, and the rest of it to open.
function changes<T extends { verdict: string }>(
  [caption, worse]: [string, string[]],
  columns: string[][],
  all: T[],
  cells: (row: T) => Child[],
): Child {
  if (!all.length) return hint(`${caption}: nothing to compare.`);
  const changed = all.filter((row) => row.verdict !== SAME);
  const same = all.filter((row) => row.verdict === SAME);
  const shown = (rows: T[], title: string) => [
    table(
      title,
      [...columns, ["Verdict"]],
      rows.slice(0, MOST_ROWS).map((row) => [...cells(row), verdict(row.verdict, worse)]),
    ),
    rows.length > MOST_ROWS ? hint(`… and ${grouped(rows.length - MOST_ROWS)} more (--format json).`) : null,
  ];
  return [
    changed.length ? shown(changed, caption) : hint(`${caption}: nothing changed.`),
    same.length ? details(`${count(same.length, "row")} as before`, false, shown(same, `${caption}, as before`)) : null,
  ];
}

const PAIR = [
  ["Before", "num"],
  ["After", "num"],
];

function pair(title: string) {
  return [
    [`${title} before`, "num"],
    [`${title} after`, "num"],
  ];
}

function starts(model: Comparison) {
  const total = (us: number | null, outcome: string | null) => (us === null ? words(outcome ?? "unknown") : span(us));
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
      steps(row),
    ],
  );
}

function steps(row: StartChange) {
  return row.steps.slice(0, 3).map(stepText).join("; ");
}

// `+120 ms join group (10 ms to 130 ms), mostly the broker`.
function stepText(step: StepChange) {
  const parts: [string, number][] = [
    ["the client’s wait", step.wait_us],
    ["the broker", step.broker_us],
    ["the network", step.network_us],
  ];
  const [part] = parts.reduce((a, b) => (Math.abs(b[1]) > Math.abs(a[1]) ? b : a));
  const sign = step.change_us > 0 ? "+" : "−";
  const from = `${span(step.before_us)} to ${span(step.after_us)}`;
  return `${sign}${span(Math.abs(step.change_us))} ${words(step.step)} (${from}), mostly ${part}`;
}

function only({ only_before, only_after }: Comparison) {
  const rows = (kinds: ClientKind[], where: string) =>
    kinds.map((kind) => [kind.client_id, words(kind.kind), kind.group_id, kind.transactional_id, where]);
  const all = [...rows(only_after, "new: only after"), ...rows(only_before, "gone: only before")];
  if (!all.length) return null;
  const columns = [["Client"], ["Kind"], ["Group"], ["Transactional id"], ["Where"]];
  return [
    table("Clients of one capture alone", columns, all.slice(0, MOST_ROWS)),
    all.length > MOST_ROWS ? hint(`… and ${grouped(all.length - MOST_ROWS)} more (--format json).`) : null,
  ];
}

function incidents(model: Comparison) {
  const columns = [["What failed"], ...pair("Times"), ...pair("Clients"), ...pair("Longest stall")];
  return changes(["Incidents", model.worse], columns, model.incidents, (row) => [
    row.what,
    grouped(row.n_before),
    grouped(row.n_after),
    grouped(row.clients_before),
    grouped(row.clients_after),
    span(row.longest_before_ms * MS),
    span(row.longest_after_ms * MS),
  ]);
}

function recoveries(model: Comparison) {
  const took = (ms: number | null) => (ms === null ? "" : span(ms * MS));
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
    grouped(row.unrecovered_after),
  ]);
}

function latency(caption: string, rows: LatencyChange[], worse: string[]) {
  const columns = [["API"], ["Broker"], ...pair("Answers"), ...pair("p50"), ...pair("p99")];
  return changes([caption, worse], columns, rows, (row) => [
    row.api_name,
    row.node_id === null ? "all" : nodeName(row.node_id),
    grouped(row.n_before),
    grouped(row.n_after),
    span(row.p50_before_us),
    span(row.p50_after_us),
    span(row.p99_before_us),
    span(row.p99_after_us),
  ]);
}

function errors(model: Comparison) {
  const columns = [["Error"], ["API"], ...pair("Times"), ...pair("A minute")];
  return changes(["Errors in the brokers’ answers", model.worse], columns, model.errors, (row) => [
    row.error_name,
    row.api_name,
    grouped(row.n_before),
    grouped(row.n_after),
    row.per_minute_before.toFixed(1),
    row.per_minute_after.toFixed(1),
  ]);
}

function rebalances(model: Comparison) {
  const columns = [["Group"], ...pair("Times"), ...pair("Longest unread"), ["Triggers before"], ["Triggers after"]];
  return changes(["Rebalances", model.worse], columns, model.rebalances, (row) => [
    row.group_id,
    figure(row.n_before),
    figure(row.n_after),
    span(row.longest_before_ms * MS),
    span(row.longest_after_ms * MS),
    row.triggers_before.map(words).join(", "),
    row.triggers_after.map(words).join(", "),
  ]);
}

function versions(model: Comparison) {
  const rows = model.versions
    .slice(0, MOST_ROWS)
    .map(({ client_id, what, before, after }) => [client_id, what, before, after]);
  const columns = [["Client"], ["What"], ["Only before"], ["Only after"]];
  return rows.length ? table("Software and versions in use", columns, rows) : null;
}
