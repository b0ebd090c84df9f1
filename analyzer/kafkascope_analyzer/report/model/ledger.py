"""The byte ledger in full: what became of every byte of the streams, by reason with an example to look up, and the
packets of each file by kind.

stream = decoded + undecoded; missing bytes were never captured. The example of a reason is its longest range.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.tables import CAPTURES
from kafkascope_analyzer.report.formatting import ADDRESS_SQL
from kafkascope_analyzer.report.model.capture import byte_totals
from kafkascope_analyzer.report.model.data_quality import NO_REASON, limits_hit
from kafkascope_analyzer.report.rows import read, select
from kafkascope_analyzer.sql.database import Database


@dataclass(frozen=True, slots=True)
class Example:
    """The longest undecoded range of a reason, and where to find it."""

    conn_id: str
    direction: str | None
    capture_id: int | None
    packet_no: int | None
    ts_ns: int | None
    stream_offset: int
    bytes: int
    detail: str | None
    head: str | None
    client: str | None
    server: str | None
    path: str | None


@dataclass(frozen=True, slots=True)
class ReasonTotal:
    """A reason for which bytes did not decode."""

    reason: str
    bytes: int
    n: int
    example: Example | None


@dataclass(frozen=True, slots=True)
class PacketsOfFile(Row):
    """The packets of a file by kind."""

    TABLE: ClassVar[Table] = CAPTURES
    path: str | None
    n_packets: int
    n_duplicates: int
    n_not_tcp: int
    n_malformed: int
    n_unsupported: int
    n_incomplete: int
    n_truncated: int

    def n_of(self, kind: str) -> int:
        """Returns how many packets were of a kind of PACKET_KINDS."""
        n: int = getattr(self, kind)
        return n


@dataclass(frozen=True, slots=True)
class FullLedger:
    """Bytes in total and by reason, packets by file, and limits that were reached."""

    totals: Annotated[dict[str, int], "bytes in all"]
    reasons: Annotated[tuple[ReasonTotal, ...], "by reason"]
    files: Annotated[tuple[PacketsOfFile, ...], "by file"]
    limits_hit: Annotated[dict[str, int], "what was left out at each limit"]


_REASONS = f"""
with stretches as (select * replace (coalesce(nullif(reason, ''), '{NO_REASON}') as reason) from undecoded),
totals as (select reason, coalesce(sum(bytes), 0)::bigint as bytes, count(*) as n from stretches group by reason),
longest as (
    select reason as of_reason, u.conn_id, direction, u.capture_id, packet_no, ts_ns, stream_offset, u.bytes,
        detail, head,
        {ADDRESS_SQL.format(ip="client_ip", port="client_port")} as client,
        {ADDRESS_SQL.format(ip="server_ip", port="server_port")} as server,
        f.path as path
    from stretches u left join connections c on u.conn_id = c.conn_id
        left join captures f on u.capture_id = f.capture_id
    qualify row_number() over (
        partition by reason order by u.bytes desc nulls last, ts_ns, u.conn_id, stream_offset) = 1
)
select reason, t.bytes as bytes, n, {{
    'conn_id': conn_id, 'direction': direction, 'capture_id': capture_id, 'packet_no': packet_no, 'ts_ns': ts_ns,
    'stream_offset': stream_offset, 'bytes': l.bytes, 'detail': detail, 'head': head, 'client': client,
    'server': server, 'path': path}} as example
from totals t join longest l on t.reason = l.of_reason order by t.bytes desc, reason
"""

TOTALS = ("stream_bytes", "decoded_bytes", "undecoded_bytes", "missing_bytes")


def full_ledger(database: Database) -> FullLedger:
    """Returns the ledger. Raises UsageError where a table cannot be read."""
    totals = byte_totals(database)
    return FullLedger(
        totals={name: getattr(totals, name) for name in TOTALS},
        reasons=tuple(select(database, _REASONS, ReasonTotal)),
        files=tuple(read(database.dataset, PacketsOfFile)),
        limits_hit=limits_hit(database.dataset),
    )
