"""The comparison of two captures as Markdown: starts, latency, errors, versions, rebalances; changed rows first."""

from collections.abc import Iterator, Sequence

from kafkascope_analyzer.report.formatting import count, span
from kafkascope_analyzer.report.markdown.text import code, prose, table
from kafkascope_analyzer.report.model.client_texts import kind_text
from kafkascope_analyzer.report.model.compare import ClientKind, Comparison, StartChange
from kafkascope_analyzer.report.model.compare_traffic import SAME, LatencyChange

MOST_ROWS = 40
_CHANGE = (("before", "r"), ("after", "r"), ("", ""))


def markdown_comparison(model: Comparison) -> str:
    """Returns the comparison as GitHub's Markdown, with a trailing newline."""
    same = sum(row.verdict == SAME for row in model.matched)
    lines = [
        f"# {code(model.before.name)} and {code(model.after.name)}",
        "",
        *table((("", ""), ("before", "r"), ("after", "r")), _sides(model)),
        "",
        f"{count(len(model.matched), 'kind')} of client in both: {model.n_slower} slower, {model.n_faster} faster, "
        f"{same} as before.",
        *_part(
            "Starts",
            (("client", ""), ("kind", ""), *_CHANGE),
            [_start(row) for row in model.matched if row.verdict != SAME],
        ),
        *_alone("Only in the first", model.only_before),
        *_alone("Only in the second", model.only_after),
        *_stories(model),
        *_traffic(model),
    ]
    return "\n".join(lines) + "\n"


def _traffic(model: Comparison) -> Iterator[str]:
    figures = (("requests", "r"), ("p50", "r"), ("p99", "r"), ("", ""))
    yield from _part("Latency by API", (("API", ""), *figures), [row[:1] + row[2:] for row in _latency(model.latency)])
    by_broker = _latency(model.latency_by_broker)
    yield from _part("Latency by API and broker", (("API", ""), ("broker", ""), *figures), by_broker)
    errors = [
        (code(row.error_name), code(row.api_name), f"{row.n_before:,}", f"{row.n_after:,}", row.verdict)
        for row in model.errors
        if row.verdict != SAME
    ]
    yield from _part("Errors in the brokers' answers", (("error", ""), ("API", ""), *_CHANGE), errors)
    versions = [(code(row.client_id), code(row.what), code(row.before), code(row.after)) for row in model.versions]
    yield from _part("Versions", (("client", ""), ("what", ""), ("only before", ""), ("only after", "")), versions)
    rebalances = [
        (code(row.group_id), f"{row.n_before:,}", f"{row.n_after:,}", row.verdict)
        for row in model.rebalances
        if row.verdict != SAME
    ]
    yield from _part("Rebalances", (("group", ""), *_CHANGE), rebalances)


def _stories(model: Comparison) -> Iterator[str]:
    incidents = [
        (
            prose(row.what),
            f"{row.n_before:,} > {row.n_after:,}",
            f"{row.clients_before:,} > {row.clients_after:,}",
            f"{span(1000 * row.longest_before_ms)} > {span(1000 * row.longest_after_ms)}",
            row.verdict,
        )
        for row in model.incidents
        if row.verdict != SAME
    ]
    columns = (("what failed", ""), ("times", "r"), ("clients", "r"), ("longest stall", "r"), ("", ""))
    yield from _part("Incidents", columns, incidents)
    recoveries = [
        (
            code(row.client_id),
            row.resource_kind.replace("_", " "),
            code(row.error_name),
            f"{row.n_before:,} > {row.n_after:,}",
            " > ".join("" if ms is None else span(1000 * ms) for ms in (row.before_ms, row.after_ms)),
            row.verdict,
        )
        for row in model.recoveries
        if row.verdict != SAME
    ]
    broke = (("client", ""), ("what broke", ""), ("first error", ""), ("times", "r"), ("median", "r"), ("", ""))
    yield from _part("Recoveries", broke, recoveries)


def _latency(rows: Sequence[LatencyChange]) -> list[tuple[str, ...]]:
    return [
        (
            code(row.api_name),
            "" if row.node_id is None else str(row.node_id),
            f"{row.n_before:,} > {row.n_after:,}",
            f"{span(row.p50_before_us)} > {span(row.p50_after_us)}",
            f"{span(row.p99_before_us)} > {span(row.p99_after_us)}",
            row.verdict,
        )
        for row in rows
        if row.verdict != SAME
    ]


def _sides(model: Comparison) -> Iterator[tuple[str, ...]]:
    """Yields the rows of the table of the two captures."""
    sides = (model.before, model.after)
    yield "begins", *(side.start or "" for side in sides)
    yield "lasts", *(span(side.duration_us) for side in sides)
    yield "clients", *(f"{side.n_clients:,}" for side in sides)
    yield "requests", *(f"{side.n_requests:,}" for side in sides)
    yield "incidents", *(f"{side.n_incidents:,}" for side in sides)
    yield "clients that stalled", *(f"{side.n_stalled_clients:,}" for side in sides)


def _start(row: StartChange) -> tuple[str, ...]:
    totals = ((row.before_us, row.outcome_before), (row.after_us, row.outcome_after))
    shown = (span(us) if us is not None else (outcome or "unknown").replace("_", " ") for us, outcome in totals)
    return (code(row.client_id), kind_text(row.kind), *shown, row.verdict)


def _alone(title: str, kinds: Sequence[ClientKind]) -> Iterator[str]:
    rows = [(code(kind.client_id), kind_text(kind.kind), code(kind.group_id or None)) for kind in kinds]
    yield from _part(title, (("client", ""), ("kind", ""), ("group", "")), rows)


def _part(title: str, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yields a section with its table; nothing where there are no rows."""
    if not rows:
        return
    yield from ("", f"## {title}", "", *table(columns, rows[:MOST_ROWS]))
    if len(rows) > MOST_ROWS:
        yield from ("", f"… and {len(rows) - MOST_ROWS:,} more: `--format json` has all.")
