"""The numbers of the connections of one bucket: what a task needs of all servers and hosts to add up the bucket's
rows."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.resolve.servers.hosts import NONE, ServerHosts
from kafkascope_analyzer.resolve.servers.run_union import Ints

SPACES = {
    "conn": ("conn",),
    "server": ("server",),
    "pair": ("pair",),
    "process": ("process", "client_process"),
    "host": ("host", "server_host"),
    "client": ("client",),
}
"""The kinds of numbers, and the columns of BucketHosts that have them."""


@dataclass(frozen=True, slots=True)
class BucketHosts:
    """Numbers by connection of a bucket, as in ServerHosts; NONE where there is none.

    conn: the number of the connection in the bucket. host, server_host: only those in question, hosts that did not
    acknowledge for some time. client: numbers of quiet_clients.client_numbers.
    """

    conn: Ints
    client_side: Ints
    server: Ints
    pair: Ints
    process: Ints
    client_process: Ints
    host: Ints
    server_host: Ints
    client: Ints

    def numbers(self) -> dict[str, Ints]:
        """Returns all numbers, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def new_numbers(self, space: str, before: Mapping[str, Ints]) -> Ints | None:
        """Returns the number now of each number of one kind that an earlier run had given; None where connections that
        had one number have several now, or have a number and had none, or have none any more. before: the result of
        `numbers` in that run."""
        n = len(before["conn"])
        if not np.array_equal(before["client_side"], self.client_side[:n]):
            return None
        was = np.concatenate([before[name] for name in SPACES[space]])
        now = np.concatenate([getattr(self, name)[:n] for name in SPACES[space]])
        found = np.full(int(was.max(initial=NONE)) + 2, NONE)
        found[was + 1] = now
        is_same = found[0] == NONE and (found[was + 1] == now).all() and ((was == NONE) == (now == NONE)).all()
        return np.asarray(found[1:]) if is_same else None


HostNumbers: TypeAlias = ServerHosts | BucketHosts
"""Numbers by connection, of all connections or of those of a bucket."""


def bucket_hosts(hosts: ServerHosts, client: Ints, in_question: NDArray[np.bool_]) -> dict[Path, BucketHosts]:
    """Returns the numbers of each bucket, by the directory of its spill. client: client_numbers; in_question: mask of
    the hosts."""
    columns = {name: getattr(hosts, name) for name in ("client_side", "server", "pair", "process", "client_process")}
    asked = np.append(np.where(in_question, np.arange(len(in_question)), NONE), NONE)
    columns |= {"host": asked[hosts.host], "server_host": asked[hosts.server_host], "client": client}
    ends = [*list(hosts.first_row.values())[1:], hosts.connections.num_rows]
    return {
        spill: BucketHosts(conn=np.arange(end - first), **{name: each[first:end] for name, each in columns.items()})
        for (spill, first), end in zip(hosts.first_row.items(), ends, strict=True)
    }
