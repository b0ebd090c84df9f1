"""Rows of `captures`, and the manifest's entries about input files."""

from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.tables import CAPTURES
from kafkascope_analyzer.dataset.timestamps import microseconds
from kafkascope_analyzer.dataset.uncovered import Uncovered
from kafkascope_analyzer.read.source import CaptureInfo


def captures_table(captures: list[CaptureInfo], uncovered: Uncovered) -> pa.Table:
    """Returns one row per file, in the order read. uncovered: the times that no file covers."""
    lasted = {end: end - begin for begin, end in uncovered.times}
    columns: dict[str, Any] = {
        "capture_id": list(range(len(captures))),
        "path": [text_of(c.path) for c in captures],
        "format": [c.format or None for c in captures],
        "linktype": [",".join(str(link) for link in c.linktypes) for c in captures],
        "snaplen": [c.snaplen for c in captures],
        "n_packets": [c.n_packets for c in captures],
        "n_truncated": [c.n_truncated for c in captures],
        "n_dropped": [c.n_dropped for c in captures],
        "n_duplicates": [c.kinds.duplicates for c in captures],
        "n_not_tcp": [c.kinds.other for c in captures],
        "n_malformed": [c.kinds.malformed for c in captures],
        "n_unsupported": [c.kinds.unsupported for c in captures],
        "n_incomplete": [c.kinds.given_up for c in captures],
        "size_bytes": [c.size_bytes for c in captures],
        "cut_at_byte": [c.cut_at_byte for c in captures],
        "cut_why": [c.cut_why for c in captures],
        "unread_bytes": [c.unread_bytes for c in captures],
        "n_wrong_times": [c.n_wrong_times for c in captures],
        "n_leaps": [c.n_leaps for c in captures],
        "first_ns": [c.first_ts_ns for c in captures],
        "last_ns": [c.last_ts_ns for c in captures],
        "uncovered_before_ns": [c.first_ts_ns and lasted.get(c.first_ts_ns) for c in captures],
        "capture_point": [c.clock and text_of(c.clock.point) for c in captures],
        "clock_reference": [c.clock and text_of(c.clock.reference) for c in captures],
        "clock_kind": [c.clock and c.clock.kind for c in captures],
        "clock_ahead_ns": [c.clock and c.clock_ahead_ns for c in captures],
        "clock_uncertainty_ns": [c.clock and c.clock.uncertainty_ns for c in captures],
    }
    arrays = {name: pa.array(values, CAPTURES.column(name).type) for name, values in columns.items()}
    arrays |= {f"{name}_ts": microseconds(arrays[f"{name}_ns"]) for name in ("first", "last")}
    return pa.table([arrays[field.name] for field in CAPTURES.schema], CAPTURES.schema)


def text_of(name: str) -> str:
    """Returns the name of a file as text, with bytes that are not UTF-8 as escapes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def manifest_entry(capture: CaptureInfo) -> dict[str, Any]:
    """Returns the entry of `_dataset.json` about an input file."""
    return {
        "path": capture.path,
        "size_bytes": capture.size_bytes,
        "sha256_first_and_last_mib": capture.sha256,
        "linktypes": capture.linktypes,
        "snaplen": capture.snaplen,
        "packets": capture.n_packets,
        "dropped": capture.n_dropped,
        "duplicates": capture.kinds.duplicates,
        "cut_at_byte": capture.cut_at_byte,
        "cut_why": capture.cut_why,
        "unread_bytes": capture.unread_bytes,
        "first_ns": capture.first_ts_ns,
        "last_ns": capture.last_ts_ns,
        **({"clock": capture.clock.as_json()} if capture.clock else {}),
    }
