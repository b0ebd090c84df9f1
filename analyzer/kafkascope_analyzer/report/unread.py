"""What the capture could not show: bytes that did not decode, gaps, packets that were dropped or cut, connections
that were there before it began.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.limits_hit import MEANINGS
from kafkascope_analyzer.dataset.table_rows import one_of, scan
from kafkascope_analyzer.dataset.tables import CONNECTIONS, TCP_EVENTS, UNDECODED
from kafkascope_analyzer.report.words import count, safe, size

MOST_DETAILS = 3
MOST_FILES = 6
"""Files that could not be read whole and are named in a sentence each."""
NO_REASON = "unknown"


def unread(dataset: Dataset) -> dict[str, Any]:
    """Stretches by reason, missing bytes, connections of which the capture has only a part, and limits that were
    hit.
    """
    found = {"undecoded": _undecoded(dataset), **_partial(dataset), "tcp_events": _tcp_events(dataset)}
    return found | {"limits_hit": limits_hit(dataset)}


def limits_hit(dataset: Dataset) -> dict[str, int]:
    """How much was left out at each limit, by the names of dataset.limits_hit."""
    hit = dataset.manifest.limits_hit
    return {name: hit[name] for name in MEANINGS if hit.get(name)}


def limit_sentence(name: str, n: int) -> str:
    """What to tell of a limit that was hit."""
    what, fate = MEANINGS[name]
    return f"{count(n, what)} {fate}"


def cut_sentence(file: Mapping[str, Any]) -> str | None:
    """What to tell of a file (a row of `captures`, an input of the manifest) that could not be read whole; None for one
    that could.
    """
    if file.get("cut_at_byte") is None:
        return None
    n = file["unread_bytes"]
    unread = f"; {count(n, 'byte')} could not be read" if n else ""
    return f"{safe(file['path'])}: byte {file['cut_at_byte']}: {safe(file['cut_why'])}{unread}"


def doubts(found: Mapping[str, Any], capture: Mapping[str, Any]) -> Iterator[str]:
    """What the capture could not show, in sentences. found, capture: the sections `unread` and `capture`."""
    of = f"of {count(found['n_connections'], 'connection')}"
    if found["n_without_start"]:
        yield f"{found['n_without_start']:,} {of} began before the capture did, or without their SYN in it"
    if found["n_one_direction"]:
        yield f"{found['n_one_direction']:,} {of} show one direction only"
    if found["n_with_gaps"]:
        yield f"{found['n_with_gaps']:,} {of} have gaps, {size(found['missing_bytes'])} together"
    if found["n_encrypted"]:
        yield f"{found['n_encrypted']:,} {of} are encrypted: their Kafka requests cannot be seen"
    cut = [sentence for sentence in map(cut_sentence, capture["files"]) if sentence]
    yield from cut[:MOST_FILES]
    if len(cut) > MOST_FILES:
        yield f"{count(len(cut) - MOST_FILES, 'more file')} could not be read whole; the table captures has them"
    if capture["n_truncated"]:
        yield f"{capture['n_truncated']:,} of {count(capture['n_packets'], 'packet')} were cut by the snap length"
    if capture["n_duplicates"]:
        yield f"{capture['n_duplicates']:,} of {count(capture['n_packets'], 'packet')} show another once more: left out"
    if capture["n_dropped"]:
        yield f"the capturing program dropped {count(capture['n_dropped'], 'packet')}"
    for name, n in found["limits_hit"].items():
        yield limit_sentence(name, n)


def _undecoded(dataset: Dataset) -> list[dict[str, Any]]:
    stretches: Counter[str] = Counter()
    total_bytes: Counter[str] = Counter()
    details: dict[str, Counter[str]] = {}
    for batch in scan(dataset, UNDECODED, ["reason", "detail", "bytes"]):
        grouped = pa.Table.from_batches([batch]).group_by(["reason", "detail"], use_threads=False)
        for row in grouped.aggregate([("bytes", "sum"), ("bytes", "count")]).to_pylist():
            reason = row["reason"] or NO_REASON
            stretches[reason] += row["bytes_count"]
            total_bytes[reason] += row["bytes_sum"] or 0
            if row["detail"]:
                details.setdefault(reason, Counter())[row["detail"]] += row["bytes_count"]
    listed = [
        {
            "reason": reason,
            "n": n,
            "bytes": total_bytes[reason],
            "n_details": len(details.get(reason, ())),
            "details": [
                d
                for d, _ in sorted(details.get(reason, Counter()).items(), key=lambda item: (-item[1], item[0]))[
                    :MOST_DETAILS
                ]
            ],
        }
        for reason, n in stretches.items()
    ]
    return sorted(listed, key=lambda row: (-row["bytes"], row["reason"]))


def _partial(dataset: Dataset) -> dict[str, int]:
    """Counts of connections that the capture has only in part."""
    found: Counter[str] = Counter()
    columns = ["syn_ns", "close_kind", "missing_bytes", "client_segments", "server_segments", "protocol"]
    for batch in scan(dataset, CONNECTIONS, columns):
        for row in batch.to_pylist():
            found["n_connections"] += 1
            found["n_without_start"] += row["syn_ns"] is None
            found["n_still_open"] += row["close_kind"] == "open"
            found["n_with_gaps"] += bool(row["missing_bytes"])
            found["missing_bytes"] += row["missing_bytes"] or 0
            found["n_one_direction"] += bool(row["client_segments"]) != bool(row["server_segments"]) and row[
                "close_kind"
            ] not in ("refused", "unanswered")
            found["n_encrypted"] += row["protocol"] == "tls"
    names = (
        "n_connections",
        "n_without_start",
        "n_still_open",
        "n_with_gaps",
        "missing_bytes",
        "n_one_direction",
        "n_encrypted",
    )
    return {name: int(found[name]) for name in names}


def _tcp_events(dataset: Dataset) -> list[dict[str, Any]]:
    """How often each TCP event that hints at trouble occurred."""
    found: Counter[str] = Counter()
    trouble = ["syn_retry", "refused", "rst", "retransmit", "retransmit_differs", "zero_window", "gap", "buffer_limit"]
    for batch in scan(dataset, TCP_EVENTS, ["event"], one_of("event", trouble)):
        found.update(str(event) for event in batch.column("event").to_pylist())
    return [{"event": event, "n": found[event]} for event in trouble if found[event]]
