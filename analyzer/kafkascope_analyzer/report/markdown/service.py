"""The parts of the Markdown report that saved questions answer: service levels, racks, security of connections."""

from collections.abc import Iterator

from kafkascope_analyzer.report.formatting import count, size, span
from kafkascope_analyzer.report.markdown.text import code, more, prose, table
from kafkascope_analyzer.report.model.racks import Racks
from kafkascope_analyzer.report.model.security import Security
from kafkascope_analyzer.report.model.service_levels import ServiceLevel, ServiceLevels

MOST_ROWS = 20


def markdown_service_levels(found: ServiceLevels) -> Iterator[str]:
    """Yields a row for each topic and group."""
    if not found.n:
        return
    yield from ("", "## Service levels", "")
    figures = ("minutes stalled", "available", "acked p50", "p99", "fetched p50", "p99", "lag at most", "at the end")
    columns = (("topic", ""), ("group", ""), *((name, "r") for name in figures))
    yield from table(columns, map(_level, found.listed[:MOST_ROWS]))
    yield from more(found.n - MOST_ROWS, "topic and group", "topics and groups")


def _level(row: ServiceLevel) -> tuple[str, ...]:
    times = (row.acked_p50_us, row.acked_p99_us, row.fetched_p50_us, row.fetched_p99_us)
    return (
        code(row.topic),
        code(row.group_id),
        f"{row.n_minutes_stalled:,} of {row.n_minutes:,}",
        f"{row.available_percent:g} %",
        *("" if us is None else span(us) for us in times),
        *("" if n is None else f"{n:,}" for n in (row.lag_max, row.lag_last)),
    )


def markdown_racks(found: Racks) -> Iterator[str]:
    """Yields the bytes between racks, and the consumers that send their rack."""
    if not found.present:
        return
    yield from ("", "## Racks", "", f"{size(found.bytes)} went from one rack to another.", "")
    columns = (("client", ""), ("address", ""), ("its rack", ""), ("brokers' rack", ""), ("sent", "r"), ("got", "r"))
    rows = (
        (
            *map(code, (row.client_id, row.client_ip, row.client_rack, row.broker_rack)),
            size(row.bytes_sent),
            size(row.bytes_received),
        )
        for row in found.listed[:MOST_ROWS]
    )
    yield from table(columns, rows)
    yield from more(found.n - MOST_ROWS, "client")
    if found.readers:
        yield ""
    for reader in found.readers[:MOST_ROWS]:
        outside = f"{size(reader.bytes_outside)} outside"
        yield f"- {code(reader.client_id)} in {code(reader.rack)} read {outside}: {prose(reader.what)}"
    yield from more(found.n_readers - MOST_ROWS, "consumer")


def markdown_security(found: Security) -> Iterator[str]:
    """Yields how clients connect (transport and authentication), the least secure first."""
    if not found.n:
        return
    failed = f"{count(found.n_failed_logins, 'login')} failed, {count(found.n_denied, 'operation')} denied"
    yield from ("", "## How clients connect", "")
    yield from (f"{count(found.n_plain_text, 'connection')} in plain text; {failed}.", "")
    names = ("client", "address", "transport", "mechanism", "principal")
    columns = (*((name, "") for name in names), ("connections", "r"), ("weak, or denied", ""))
    rows = (
        (
            *map(
                code,
                (row.client_id, row.client_ip, row.tls_version or row.transport, row.sasl_mechanism, row.principal),
            ),
            f"{row.n_connections:,}",
            prose("; ".join((*row.weak, *row.denied))),
        )
        for row in found.listed[:MOST_ROWS]
    )
    yield from table(columns, rows)
    yield from more(found.n - MOST_ROWS, "way in", "ways in")
