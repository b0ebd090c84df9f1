"""The byte ledger in full, on a terminal."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.capture_words import PACKET_KINDS
from kafkascope_analyzer.report.formatting import count, percent, safe
from kafkascope_analyzer.report.model.data_quality import limit_sentence
from kafkascope_analyzer.report.model.ledger import Example, FullLedger, PacketsOfFile, ReasonTotal
from kafkascope_analyzer.report.terminal.layout import grid, heading, line

_TOTALS = {
    "decoded_bytes": "decoded as Kafka",
    "undecoded_bytes": "not decoded, for the reasons below",
    "missing_bytes": "missing: never captured, or cut by the snap length",
}


def render_ledger(ledger: FullLedger) -> Iterator[RenderableType]:
    """Yields the ledger's parts: totals, reasons with an example each, packets by file, limits."""
    totals = ledger.totals
    yield heading("Where every byte went")
    table = grid(("bytes", "rn"), ("share", "rn"), ("what", ""), header=True)
    table.add_row(f"{totals['stream_bytes']:,}", "", "seen in TCP streams, each byte once")
    for name, what in _TOTALS.items():
        share = "" if name == "missing_bytes" else percent(totals[name], totals["stream_bytes"])
        table.add_row(f"{totals[name]:,}", share, what)
    yield table
    yield from _reasons(ledger.reasons)
    yield from _files(ledger.files)
    for name, n in ledger.limits_hit.items():
        yield line("• " + limit_sentence(name, n))


def _reasons(reasons: Sequence[ReasonTotal]) -> Iterator[RenderableType]:
    if not reasons:
        return
    yield heading("Not decoded")
    table = grid(("bytes", "rn"), ("ranges", "rn"), ("reason", ""), ("the longest of them", ""), header=True)
    for row in reasons:
        table.add_row(f"{row.bytes:,}", f"{row.n:,}", safe(row.reason), Text(_example(row.example)))
    yield table


def _example(example: Example | None) -> str:
    """Returns where to find an undecoded range: packet, connection, direction, offset in its stream."""
    if example is None:
        return ""
    ends = [safe(example.client or "?"), safe(example.server or "?")]
    if example.direction == "response":
        ends.reverse()
    packet = "" if example.packet_no is None else f"packet {example.packet_no:,} · "
    place = f"{packet}{ends[0]} → {ends[1]} · {count(example.bytes, 'byte')} at {example.stream_offset:,}"
    return place + (f" · {safe(example.detail)}" if example.detail else "")


def _files(files: Sequence[PacketsOfFile]) -> Iterator[RenderableType]:
    yield heading("Packets")
    kinds = [(name, what) for name, what in PACKET_KINDS.items() if any(file.n_of(name) for file in files)]
    table = grid(("file", ""), ("packets", "rn"), *((what, "rn") for _, what in kinds), header=True)
    for file in files:
        figures = (f"{file.n_of(name):,}" for name, _ in kinds)
        table.add_row(Text(safe(file.path)), f"{file.n_packets:,}", *figures)
    yield table
