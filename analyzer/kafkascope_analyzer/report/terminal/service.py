"""The parts of the terminal report that saved questions answer: service levels, racks, security of connections."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.formatting import count, safe, size, span
from kafkascope_analyzer.report.model.racks import Racks
from kafkascope_analyzer.report.model.security import Security, WayIn
from kafkascope_analyzer.report.model.service_levels import ServiceLevels
from kafkascope_analyzer.report.terminal.layout import grid, heading, line, more

MOST_ROWS = 12


def render_service_levels(found: ServiceLevels) -> Iterator[RenderableType]:
    """Yields a row for each topic and group."""
    if not found.n:
        return
    yield heading("Service levels by topic and group")
    figures = (("available", "rn"), ("acked p99", "rn"), ("fetched p99", "rn"), ("lag at most", "rn"))
    table = grid(("topic", ""), ("group", ""), *figures)
    for row in found.listed[:MOST_ROWS]:
        names = Text(safe(row.topic)), Text(safe(row.group_id or ""))
        times = (_span(row.acked_p99_us), _span(row.fetched_p99_us))
        table.add_row(*names, f"{row.available_percent:g} %", *times, _figure(row.lag_max))
    yield table
    yield from more(found.n - MOST_ROWS, "topic and group", "kafkascope sql --run slo")
    yield line(("available: minutes without a stall, of those in which records of the topic went", "dim"))


def render_racks(found: Racks) -> Iterator[RenderableType]:
    """Yields the bytes between racks, and the consumers whose client.rack has not the intended effect."""
    if not found.present:
        return
    yield heading(f"From one rack to another: {size(found.bytes)}")
    table = grid(("client", ""), ("address", "n"), ("from", ""), ("to", ""), ("sent", "rn"), ("got", "rn"))
    for row in found.listed[:MOST_ROWS]:
        names = (Text(safe(name or "")) for name in (row.client_id, row.client_ip, row.client_rack, row.broker_rack))
        table.add_row(*names, size(row.bytes_sent), size(row.bytes_received))
    if found.listed:
        yield table
    yield from more(found.n - MOST_ROWS, "client", "kafkascope sql --run cross-rack-bytes")
    for reader in found.readers[:MOST_ROWS]:
        outside = f"{size(reader.bytes_outside)} read outside" if reader.bytes_outside else "nothing read outside"
        yield line(f"{safe(reader.client_id or reader.client_ip)} in {safe(reader.rack)}: {outside}; {reader.what}")
    yield from more(found.n_readers - MOST_ROWS, "consumer", "kafkascope sql --run rack-readers")


def render_security(found: Security) -> Iterator[RenderableType]:
    """Yields how clients connect (transport and authentication), the least secure first."""
    if not found.n:
        return
    yield heading("How clients connect")
    failed = f"{count(found.n_failed_logins, 'login')} failed, {count(found.n_denied, 'operation')} denied"
    yield line(f"{count(found.n_plain_text, 'connection')} in plain text; {failed}")
    table = grid(
        ("client", ""), ("address", "n"), ("by", ""), ("principal", ""), ("conns", "rn"), ("weak, or denied", "w")
    )
    for row in found.listed[:MOST_ROWS]:
        names = (Text(safe(name or "")) for name in (row.client_id, row.client_ip))
        notes = Text(safe("; ".join((*row.weak, *row.denied))))
        table.add_row(*names, Text(_how(row)), Text(safe(row.principal or "")), f"{row.n_connections:,}", notes)
    yield table
    yield from more(found.n - MOST_ROWS, "way in", "kafkascope sql --run security-posture")


def _how(row: WayIn) -> str:
    return ", ".join(safe(part) for part in (row.tls_version or row.transport, row.sasl_mechanism) if part)


def _span(us: int | None) -> str:
    return "" if us is None else span(us)


def _figure(n: int | None) -> str:
    return "" if n is None else f"{n:,}"
