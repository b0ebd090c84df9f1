"""Which group reads on each connection: members of a group are clients that commit, join or send heartbeats for it on
connections of their own to the coordinator.

Each bucket has spilled the client ids of connections that fetch, and of those that act for a group
(scan.group_clients). Between the passes both are brought together by the address and client id of the client.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.scan.group_clients import CONSUMERS, GROUP_CLIENTS
from kafkascope_analyzer.scan.spill import read_spill


def readers(connections: Mapping[Path, pa.Table]) -> NDArray[np.int64]:
    """A number for the reader on each connection of all buckets, one bucket after the other: the same for all members
    of a group; one of its own for each connection of a client that has no group, or several. connections: by the
    directory of a bucket's spill, with client_ip."""
    groups: dict[tuple[str, str], set[str]] = {}
    for spill, known in connections.items():
        for ip, client_id, group in _clients(spill, GROUP_CLIENTS, known):
            groups.setdefault((ip, client_id), set()).add(group)
    numbers = {group: k for k, group in enumerate(sorted(set().union(*groups.values())))}
    n_groups, n_before, parts = len(numbers), 0, [np.empty(0, np.int64)]
    for spill, known in connections.items():
        of_bucket = n_groups + n_before + np.arange(known.num_rows)
        for rows in read_spill(spill, CONSUMERS):
            ips = known["client_ip"].take(rows["conn"]).fill_null("").to_pylist()
            ids = rows["client_id"].fill_null("").to_pylist()
            for conn, client in zip(rows["conn"].to_pylist(), zip(ips, ids, strict=True), strict=True):
                if len(groups.get(client, ())) == 1:
                    of_bucket[conn] = numbers[next(iter(groups[client]))]
        parts.append(of_bucket)
        n_before += known.num_rows
    return np.concatenate(parts)


def _clients(spill: Path, name: str, known: pa.Table) -> list[tuple[str, str, str]]:
    """Address, client id and group of each client of a bucket."""
    found: set[tuple[str, str, str]] = set()
    for rows in read_spill(spill, name):
        ips = pc.fill_null(known["client_ip"].take(rows["conn"]), "").to_pylist()
        ids, groups = rows["client_id"].fill_null("").to_pylist(), rows["group_id"].to_pylist()
        found |= set(zip(ips, ids, groups, strict=True))
    return sorted(found)
