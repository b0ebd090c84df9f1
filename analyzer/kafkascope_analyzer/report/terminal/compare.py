"""The comparison of two captures on a terminal."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.formatting import count, safe, span
from kafkascope_analyzer.report.model.client_texts import client_name, kind_text
from kafkascope_analyzer.report.model.compare import ClientKind, Comparison, StartChange
from kafkascope_analyzer.report.model.compare_stories import IncidentChange, RecoveryChange
from kafkascope_analyzer.report.model.compare_traffic import ErrorChange, LatencyChange, RebalanceChange, VersionChange
from kafkascope_analyzer.report.terminal.layout import grid, heading, line, more

MOST_CLIENTS = 40
MOST_STEPS = 3
MOST_ROWS = 15
_STYLE = {
    "more": "red",
    "new": "red",
    "fewer": "green",
    "gone": "green",
    "slower": "red",
    "worse": "red",
    "better": "green",
    "broken": "bold red",
    "faster": "green",
    "recovered": "green",
}


_Judged = StartChange | IncidentChange | RecoveryChange | LatencyChange | ErrorChange | RebalanceChange


def render_comparison(model: Comparison) -> Iterator[RenderableType]:
    """Yields changed starts, clients that only one capture has, then incidents, recoveries, latency, errors, versions
    and rebalances."""
    same = sum(row.verdict == "same" for row in model.matched)
    yield line(
        f"{count(len(model.matched), 'kind')} of client in both: {model.n_slower} slower, "
        f"{model.n_faster} faster, {same} as before"
    )
    yield from _starts(model.matched)
    for row in model.matched[:MOST_CLIENTS]:
        if row.verdict != "same":
            yield from _why(row)
    yield from _alone("Only in the first", model.only_before)
    yield from _alone("Only in the second", model.only_after)
    yield from _incidents(model.incidents)
    yield from _recoveries(model.recoveries)
    yield from _latency("Latency by API", model.latency)
    yield from _latency("Latency by API and broker", model.latency_by_broker)
    yield from _errors(model.errors)
    yield from _versions(model.versions)
    yield from _rebalances(model.rebalances)


def _starts(rows: Sequence[StartChange]) -> Iterator[RenderableType]:
    """Yields the starts of each kind of client that both captures have."""
    if not rows:
        return
    yield heading("Starts")
    table = grid(("client", "w"), ("kind", ""), ("before", "rn"), ("after", "rn"), ("", ""))
    for row in rows[:MOST_CLIENTS]:
        table.add_row(
            Text(client_name(row.client_id)),
            kind_text(row.kind),
            _total(row.before_us, row.outcome_before),
            _total(row.after_us, row.outcome_after),
            Text(row.verdict, style=_STYLE.get(row.verdict, "")),
        )
    yield table
    yield from more(len(rows) - MOST_CLIENTS, "client", "--format json has all")


def _alone(title: str, kinds: Sequence[ClientKind]) -> Iterator[RenderableType]:
    """Yields the kinds of client that only one of the captures has."""
    if kinds:
        yield heading(title)
        for kind in kinds[:MOST_CLIENTS]:
            group = f" · group {safe(kind.group_id)}" if kind.group_id else ""
            yield line(f"{client_name(kind.client_id)} · {kind_text(kind.kind)}{group}", indent=2)
        yield from more(len(kinds) - MOST_CLIENTS, "client", "--format json has all")


def _verdict(row: _Judged) -> Text:
    return Text(row.verdict, style=_STYLE.get(row.verdict, ""))


def _as_before(rows: Sequence[_Judged], one: str) -> Iterator[RenderableType]:
    """Yields the line with the number of rows that have not changed, and so are not shown."""
    same = sum(row.verdict == "same" for row in rows)
    if same:
        yield line((f"{count(same, one)} as before", "dim"))
    yield from more(len(rows) - same - MOST_ROWS, one, "--format json has all")


def _incidents(rows: Sequence[IncidentChange]) -> Iterator[RenderableType]:
    if not rows:
        return
    yield heading("Incidents")
    changed = [row for row in rows if row.verdict != "same"][:MOST_ROWS]
    table = grid(("what failed", "w"), ("times", "rn"), ("clients", "rn"), ("longest", "rn"), ("", "n"))
    for row in changed:
        counts = f"{row.n_before:,} > {row.n_after:,}", f"{row.clients_before:,} > {row.clients_after:,}"
        longest = f"{span(1000 * row.longest_before_ms)} > {span(1000 * row.longest_after_ms)}"
        table.add_row(Text(safe(row.what)), *counts, longest, _verdict(row))
    if changed:
        yield table
    yield from _as_before(rows, "incident")


def _recoveries(rows: Sequence[RecoveryChange]) -> Iterator[RenderableType]:
    if not rows:
        return
    yield heading("Recoveries")
    changed = [row for row in rows if row.verdict != "same"][:MOST_ROWS]
    table = grid(("client", "w"), ("what broke", ""), ("first error", ""), ("times", "rn"), ("median", "rn"), ("", "n"))
    for row in changed:
        broke = Text(row.resource_kind.replace("_", " "))
        times = " > ".join("-" if ms is None else span(1000 * ms) for ms in (row.before_ms, row.after_ms))
        n = f"{row.n_before:,} > {row.n_after:,}"
        table.add_row(Text(client_name(row.client_id)), broke, Text(safe(row.error_name)), n, times, _verdict(row))
    if changed:
        yield table
    yield from _as_before(rows, "first error")


def _latency(title: str, rows: Sequence[LatencyChange]) -> Iterator[RenderableType]:
    if not rows:
        return
    yield heading(title)
    changed = [row for row in rows if row.verdict != "same"][:MOST_ROWS]
    table = grid(("API", "w"), ("requests", "rn"), ("p50", "rn"), ("p99", "rn"), ("", "n"))
    for row in changed:
        times = (row.p50_before_us, row.p50_after_us), (row.p99_before_us, row.p99_after_us)
        figures = (f"{span(before)} > {span(after)}" for before, after in times)
        n = f"{row.n_before:,} > {row.n_after:,}"
        at = "" if row.node_id is None else f" at node {row.node_id}"
        table.add_row(Text(f"{safe(row.api_name)}{at}"), n, *figures, _verdict(row))
    if changed:
        yield table
    yield from _as_before(rows, "API")


def _errors(rows: Sequence[ErrorChange]) -> Iterator[RenderableType]:
    if not rows:
        return
    yield heading("Errors in the brokers' answers")
    changed = [row for row in rows if row.verdict != "same"][:MOST_ROWS]
    table = grid(("error", "w"), ("API", ""), ("before", "rn"), ("after", "rn"), ("", "n"))
    for row in changed:
        counts = f"{row.n_before:,}", f"{row.n_after:,}"
        table.add_row(Text(safe(row.error_name)), Text(safe(row.api_name)), *counts, _verdict(row))
    if changed:
        yield table
    yield from _as_before(rows, "error kind")


def _versions(rows: Sequence[VersionChange]) -> Iterator[RenderableType]:
    if not rows:
        return
    yield heading("Versions")
    table = grid(("client", "w"), ("what", ""), ("only before", ""), ("only after", ""))
    for row in rows[:MOST_ROWS]:
        table.add_row(*(Text(safe(name)) for name in (row.client_id, row.what, row.before, row.after)))
    yield table
    yield from more(len(rows) - MOST_ROWS, "change", "--format json has all")


def _rebalances(rows: Sequence[RebalanceChange]) -> Iterator[RenderableType]:
    if not rows:
        return
    yield heading("Rebalances")
    changed = [row for row in rows if row.verdict != "same"][:MOST_ROWS]
    table = grid(("group", "w"), ("rebalances", "rn"), ("longest unread", "rn"), ("", "n"))
    for row in changed:
        longest = [row.longest_before_ms, row.longest_after_ms]
        unread = " > ".join(span(1000 * ms) for ms in longest) if any(longest) else ""
        n = f"{row.n_before:,} > {row.n_after:,}"
        table.add_row(Text(safe(row.group_id)), n, unread, _verdict(row))
    if changed:
        yield table
    yield from _as_before(rows, "group")


def _total(us: int | None, outcome: str | None | None) -> str:
    return span(us) if us is not None else (outcome or "unknown").replace("_", " ")


def _why(row: StartChange) -> Iterator[RenderableType]:
    change = f" by {span(abs(row.change_us))}" if row.change_us is not None else ""
    name = client_name(row.client_id)
    yield line("")
    yield line((f"{name}: ", "bold"), (f"{row.verdict}{change}", _STYLE.get(row.verdict, "")))
    for step in row.steps[:MOST_STEPS]:
        parts = {"the client's wait": step.wait_us, "the broker": step.broker_us, "the network": step.network_us}
        part = max(parts, key=lambda name: abs(parts[name]))
        sign = "+" if step.change_us > 0 else "-"
        yield line(
            f"{sign}{span(abs(step.change_us))} {step.step.replace('_', ' ')} "
            f"({span(step.before_us)} before, {span(step.after_us)} after): mostly {part}",
            indent=2,
        )
