"""The part of the terminal report about groups and transactions: rebalances, unread partitions, hanging
transactions."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.formatting import clock, count, list_of, safe, span
from kafkascope_analyzer.report.model.client_texts import GROUP_PROTOCOLS, ROUNDS
from kafkascope_analyzer.report.model.rebalances import GroupRebalances
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.model.transactions import Transaction, TransactionalId
from kafkascope_analyzer.report.model.unread_partitions import Rebalance, departed_name
from kafkascope_analyzer.report.terminal.layout import grid, heading, indented, line, more

MOST_GROUPS = 12
MOST_REBALANCES = 12
MOST_IDS = 20
MOST_UNWELL = 6
_STYLE = {"hanging": "bold red", "fenced": "bold red", "aborted": "yellow", "open": "yellow"}


def render_rebalances(model: Report) -> Iterator[RenderableType]:
    """Yields groups, those whose partitions were unread longest first, each with its rebalances by time."""
    found, start_ns = model.rebalances, model.capture.begin_ns
    if not found.n:
        return
    yield heading(f"Rebalances ({found.n:,})")
    for number, group in enumerate(found.groups[:MOST_GROUPS]):
        if number:
            yield line("")
        yield from _group(group, start_ns)
    yield from more(found.n_groups - min(MOST_GROUPS, len(found.groups)), "group", "table stories/rebalances")


def _group(group: GroupRebalances, start_ns: int) -> Iterator[RenderableType]:
    protocol = GROUP_PROTOCOLS.get(group.group_protocol or "", "")
    word = ROUNDS.get(group.group_protocol or "", "group epoch")
    still = f" · {group.unread_text}" if group.unread_text else ""
    name = safe(group.group_id) or "(no group id)"
    yield line((name, "bold"), f" · {protocol}" if protocol else "", f" · {count(group.n, word)}{still}")
    figures = (("members", "rn"), ("took", "rn"), ("unread", "rn"))
    number = "gen" if word == "generation" else "epoch"
    table = grid(("at", "n"), (number, "rn"), ("because", "n"), *figures, ("last to join", ""))
    for row in _shown(group.listed):
        unread = "" if row.unread_ms is None else span(1000 * row.unread_ms)
        took = "" if row.duration_ms is None else span(1000 * row.duration_ms)
        table.add_row(
            "" if row.start_ns is None else clock(row.start_ns - start_ns),
            "" if row.generation is None else str(row.generation),
            Text(row.trigger_words),
            "" if row.n_members is None else f"{row.n_members:,}",
            took,
            unread,
            Text(safe(row.last_joiner_client_id or row.last_joiner or "")),
        )
    yield indented(table, 2)
    yield from more(group.n - min(len(group.listed), MOST_REBALANCES), "rebalance", "table stories/rebalances")
    for row in _shown(group.listed):
        yield from _departed(row, start_ns)
        if row.unread_text:
            yield line((_at(row, start_ns), "bold"), row.unread_text, indent=2)


def _at(row: Rebalance, start_ns: int) -> str:
    return "" if row.start_ns is None else f"{clock(row.start_ns - start_ns)} "


def _departed(row: Rebalance, start_ns: int) -> Iterator[RenderableType]:
    """Yields members that were removed or replaced, and how long they had sent nothing."""
    for member in row.departed:
        if member.how in ("evicted", "replaced"):
            limit = f" (session timeout {span(1000 * member.session_timeout_ms)})" if member.session_timeout_ms else ""
            silent = f" after {span(1000 * member.silent_ms)} of silence{limit}" if member.silent_ms else ""
            yield line(
                (_at(row, start_ns), "bold"), (member.how, "bold yellow"), f" {departed_name(member)}{silent}", indent=2
            )


def _shown(listed: Sequence[Rebalance]) -> Sequence[Rebalance]:
    """Returns the rebalances that are shown, by time: where there are many, the longest."""
    if len(listed) <= MOST_REBALANCES:
        return listed
    order = sorted(range(len(listed)), key=lambda i: (-(listed[i].unread_ms or listed[i].duration_ms or 0), i))
    return [listed[i] for i in sorted(order[:MOST_REBALANCES])]


def render_transactions(model: Report) -> Iterator[RenderableType]:
    """Yields transactional ids with the outcomes of their transactions; those that did not end well one by one."""
    found, start_ns = model.transactions, model.capture.begin_ns
    if not found.n:
        return
    yield heading(f"Transactions ({found.n:,})")
    outcomes = [outcome for outcome, n in found.outcomes.items() if n]
    table = grid(("transactional id", ""), *((outcome, "rn") for outcome in outcomes), ("p50", "rn"), ("longest", "rn"))
    shown = found.ids[:MOST_IDS]
    for row in shown:
        figures = [f"{row.outcomes[outcome]:,}" if row.outcomes[outcome] else "" for outcome in outcomes]
        name = safe(row.transactional_id) or "(none)"
        version = f" ({', '.join(row.transactions)})" if row.transactions else ""
        table.add_row(Text(name + version), *figures, span(row.p50_us), span(row.max_us))
    yield table
    yield from more(found.n_ids - len(shown), "transactional id", "table stories/transactions")
    for row in shown:
        if row.unwell:
            yield from _unwell(row, start_ns)


def _unwell(of_id: TransactionalId, start_ns: int) -> Iterator[RenderableType]:
    yield line("")
    names = [safe(client.client_id) for client in of_id.clients if client.client_id]
    by = f" · of {list_of(sorted(set(names)), 3)}" if names else ""
    yield line((safe(of_id.transactional_id) or "(none)", "bold"), by)
    for row in _gravest(of_id.unwell):
        lasted = "for" if row.outcome in ("hanging", "open") else "after"
        took = f" {lasted} {span(row.duration_us)}" if row.duration_us is not None else ""
        epoch = f"epoch {row.producer_epoch}, " if row.producer_epoch is not None else ""
        what = f"{epoch}{count(len(row.partitions), 'partition')}, {count(row.n_records or 0, 'record')}"
        fenced = f" · fenced by {safe(row.fenced_by_client_id or row.fenced_by)}" if row.fenced_by else ""
        held = row.n_blocked_consumers
        fenced += f" · held back {count(held, 'consumer')}" if held else ""
        begun = "" if row.begin_ns is None else f"{clock(row.begin_ns - start_ns)} "
        outcome = row.outcome or "cut"
        yield line((begun, "bold"), (outcome, _STYLE.get(outcome, "")), f"{took} · {what}{fenced}", indent=2)
    yield from more(of_id.n_unwell - min(MOST_UNWELL, len(of_id.unwell)), "transaction", "table stories/transactions")


def _gravest(unwell: Sequence[Transaction]) -> list[Transaction]:
    """Returns the transactions that are shown, by time: hanging ones before fenced before aborted ones."""
    grave = list(_STYLE)
    order = sorted(range(len(unwell)), key=lambda i: (grave.index(unwell[i].outcome or ""), i))
    return [unwell[i] for i in sorted(order[:MOST_UNWELL])]
