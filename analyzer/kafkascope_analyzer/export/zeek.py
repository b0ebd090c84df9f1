"""Writes `kafka.log` in Zeek's format: TSV with Zeek's header, a line for each request with its response.

`uid` is the connection's id in the dataset, `community_id` joins the log with those of other sensors. Escapes are those
of Zeek's ASCII writer: `\\xNN` for unprintable and ambiguous characters, `-` for a missing value, `(empty)` for an
empty text.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from kafkascope_analyzer.dataset.table_rows import capture_span
from kafkascope_analyzer.sql.database import Database

_FIELDS = (
    ("ts", "time", "r.ts_ns"),
    ("uid", "string", "r.conn_id"),
    ("id.orig_h", "addr", "r.client_ip"),
    ("id.orig_p", "port", "r.client_port"),
    ("id.resp_h", "addr", "r.server_ip"),
    ("id.resp_p", "port", "r.server_port"),
    ("community_id", "string", "c.community_id"),
    ("client_id", "string", "r.client_id"),
    ("node_id", "int", "r.node_id"),
    ("api", "string", "r.api_name"),
    ("api_version", "int", "r.api_version"),
    ("correlation_id", "int", "r.correlation_id"),
    ("request_bytes", "count", "r.request_bytes"),
    ("response_bytes", "count", "r.response_bytes"),
    ("latency", "interval", "r.latency_us"),
    ("group_id", "string", "r.group_id"),
    ("transactional_id", "string", "r.transactional_id"),
    ("error", "string", "r.error_name"),
    ("status", "string", "r.status"),
    ("principal", "string", "c.principal"),
    ("request_packet", "count", "r.request_packet_no"),
    ("response_packet", "count", "r.response_packet_no"),
)
"""Name, Zeek's type, and the column from which it is taken."""
_QUERY = f"""
select {", ".join(f"{source} as f{number}" for number, (_, _, source) in enumerate(_FIELDS))}
from requests r left join connections c using (conn_id) where r.ts_ns is not null order by r.ts_ns, r.request_id
"""
_UNSET, _EMPTY = "-", "(empty)"


def zeek_log(database: Database) -> Iterator[str]:
    """Yields the lines of the log. Its times are the capture's. Raises UsageError."""
    begin_ns, end_ns = capture_span(database.dataset)
    yield from ("#separator \\x09\n", "#set_separator\t,\n", f"#empty_field\t{_EMPTY}\n", f"#unset_field\t{_UNSET}\n")
    yield f"#path\tkafka\n#open\t{_moment(begin_ns)}\n"
    yield "#fields\t" + "\t".join(name for name, _, _ in _FIELDS) + "\n"
    yield "#types\t" + "\t".join(kind for _, kind, _ in _FIELDS) + "\n"
    kinds = [kind for _, kind, _ in _FIELDS]
    for row in database.query(_QUERY)[1]:
        yield "\t".join(_shown(value, kind) for value, kind in zip(row, kinds, strict=True)) + "\n"
    yield f"#close\t{_moment(end_ns)}\n"


def _moment(ns: int) -> str:
    return datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%d-%H-%M-%S")


def _shown(value: Any, kind: str) -> str:
    """Returns a value in Zeek's format: times and intervals in seconds."""
    if value is None:
        return _UNSET
    if kind == "time":
        return f"{value // 10**9}.{value % 10**9 // 1000:06d}"
    if kind == "interval":
        return f"{value / 1e6:.6f}"
    return _text(value) if isinstance(value, str) else str(value)


def _text(value: str) -> str:
    if value == "":
        return _EMPTY
    if value in (_UNSET, _EMPTY):
        return f"\\x{ord(value[0]):02x}{value[1:]}"
    return "".join(_escaped(c) for c in value)


def _escaped(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
