"""The byte ledger in full: where every byte of the streams went, reason by reason with an example to look up, and what
each packet of each file was.

stream = decoded + undecoded; missing bytes were never captured. Of each reason the longest stretch is the example.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import rows, scan
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, UNDECODED
from kafkascope_analyzer.report.unread import NO_REASON, limits_hit
from kafkascope_analyzer.report.words import address

PACKET_KINDS = {
    "n_duplicates": "seen twice",
    "n_not_tcp": "not TCP",
    "n_malformed": "malformed",
    "n_unsupported": "unsupported",
    "n_incomplete": "incomplete",
    "n_truncated": "cut by the snap length",
}
"""Columns of `captures` that say what packets were, and how they are headed. The rest are TCP segments."""
_EXAMPLE = ["conn_id", "direction", "capture_id", "packet_no", "ts_ns", "stream_offset", "bytes", "detail", "head"]


def full_ledger(dataset: Dataset) -> dict[str, Any]:
    """Bytes in all, by reason and what packets there were by file; limits that were hit. Raises UsageError."""
    files = list(rows(dataset, CAPTURES, ["path", "n_packets", *PACKET_KINDS]))
    return {
        "totals": dict(dataset.manifest.ledger),
        "reasons": _reasons(dataset, files),
        "files": files,
        "limits_hit": limits_hit(dataset),
    }


def _reasons(dataset: Dataset, files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for batch in scan(dataset, UNDECODED, ["reason", *_EXAMPLE]):
        table = pa.Table.from_batches([batch])
        grouped = table.group_by(["reason"], use_threads=False).aggregate([("bytes", "sum"), ("bytes", "count")])
        for group in grouped.to_pylist():
            name = group["reason"] or NO_REASON
            known = found.setdefault(name, {"reason": name, "bytes": 0, "n": 0, "example": None})
            known["bytes"] += group["bytes_sum"] or 0
            known["n"] += group["bytes_count"]
            _keep_longest(known, table.filter(pc.equal(table["reason"], group["reason"])))
    ends = _ends(dataset, {row["example"]["conn_id"] for row in found.values() if row["example"]})
    for row in found.values():
        _name(row["example"], ends, files)
    return sorted(found.values(), key=lambda row: (-row["bytes"], row["reason"]))


def _keep_longest(known: dict[str, Any], stretches: pa.Table) -> None:
    """Takes the longest of the stretches, the earliest of several, where it is longer than the one known."""
    order = [("bytes", "descending"), ("ts_ns", "ascending"), ("conn_id", "ascending"), ("stream_offset", "ascending")]
    place = pc.select_k_unstable(stretches, 1, order)
    if len(place):
        (longest,) = stretches.select(_EXAMPLE).take(place).to_pylist()
        if known["example"] is None or longest["bytes"] > known["example"]["bytes"]:
            known["example"] = longest


def _ends(dataset: Dataset, wanted: set[str]) -> dict[str, tuple[str | None, str | None]]:
    """Client and server of these connections."""
    only = pc.field("conn_id").isin(pa.array(sorted(wanted), pa.string()))
    columns = ["conn_id", "client_ip", "client_port", "server_ip", "server_port"]
    return {
        row["conn_id"]: (
            address(row["client_ip"], row["client_port"]),
            address(row["server_ip"], row["server_port"]),
        )
        for row in rows(dataset, CONNECTIONS, columns, only)
    }


def _name(example: dict[str, Any] | None, ends: dict[str, Any], files: list[dict[str, Any]]) -> None:
    """Says of an example which connection and file it is in."""
    if example is None:
        return
    example["client"], example["server"] = ends.get(example["conn_id"], (None, None))
    number = example["capture_id"]
    example["path"] = files[number]["path"] if number is not None and 0 <= number < len(files) else None
