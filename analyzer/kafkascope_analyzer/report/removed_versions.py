"""Who still uses API versions that Kafka 4.0 removed (KIP-896), or APIs that it has no longer: these clients stop
working at the upgrade.

Memory grows with the number of different (address, client id, API, version), up to MOST_KNOWN.
"""

from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import one_of, scan
from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_parsers.schema.releases import api_releases

Row = dict[str, Any]

MOST_USES = 200
MOST_KNOWN = 20_000
"""Different uses that are counted apart; a capture with more of them is no cluster's."""
_USE = ["client_ip", "client_id", "api_key", "api_name", "api_version"]


def removed_versions(dataset: Dataset) -> Row:
    """Uses by client, API and version, the most frequent first, each with the lowest version that 4.0 has.

    ApiVersions v0 is no such use: every client may fall back to it, and 4.0 answers it.
    """
    found: dict[tuple[Any, ...], list[Any]] = {}
    n_left_out = 0
    for batch in scan(dataset, REQUESTS, [*_USE, "ts_ns", "conn_id"], _removed()):
        grouped = pa.Table.from_batches([batch]).group_by(_USE, use_threads=False)
        for row in grouped.aggregate(
            [("ts_ns", "count"), ("ts_ns", "min"), ("ts_ns", "max"), ("conn_id", "min")]
        ).to_pylist():
            key = tuple(row[name] for name in _USE)
            if key not in found and len(found) >= MOST_KNOWN:
                n_left_out += row["ts_ns_count"]
                continue
            known = found.setdefault(key, [0, row["ts_ns_min"], row["ts_ns_max"], row["conn_id_min"]])
            first, last = min(known[1], row["ts_ns_min"]), max(known[2], row["ts_ns_max"])
            known[:] = known[0] + row["ts_ns_count"], first, last, min(known[3], row["conn_id_min"])
    in_order = sorted(found.items(), key=lambda item: (-item[1][0], *(str(part) for part in item[0])))
    chosen = in_order[:MOST_USES]
    software = _software(dataset, sorted({known[3] for _, known in chosen}))
    return {
        "n": len(found),
        "n_requests": sum(known[0] for known in found.values()) + n_left_out,
        "listed": [_told(key, known, software) for key, known in chosen],
    }


def _removed() -> ds.Expression:
    """The filter: the request's version is one that 4.0 does not have."""
    only = ds.field("api_key").isin(pa.array([], pa.int16()))
    for key, api in api_releases().items():
        if api.removed_in_4_0:
            only |= (ds.field("api_key") == key) & ds.field("api_version").isin(
                pa.array(api.removed_in_4_0, pa.int16())
            )
    return only


def _told(key: tuple[Any, ...], known: list[Any], software: dict[str, tuple[str | None, str | None]]) -> Row:
    n, first_ns, last_ns, conn_id = known
    left = api_releases()[key[_USE.index("api_key")]].spoken["4.0"]
    name, version = software.get(conn_id, (None, None))
    return {
        **dict(zip(_USE, key, strict=True)),
        "n": n,
        "first_ns": first_ns,
        "last_ns": last_ns,
        "software_name": name,
        "software_version": version,
        "lowest_in_4_0": left.low if left.low <= left.high else None,
    }


def _software(dataset: Dataset, conn_ids: list[str]) -> dict[str, tuple[str | None, str | None]]:
    """conn_id -> software and version that its ApiVersions told."""
    columns = ["conn_id", "software_name", "software_version"]
    found: dict[str, tuple[str | None, str | None]] = {}
    for batch in scan(dataset, CONNECTIONS, columns, one_of("conn_id", conn_ids)):
        for row in batch.to_pylist():
            found[row["conn_id"]] = row["software_name"], row["software_version"]
    return found
