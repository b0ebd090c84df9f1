"""Spilled runs of the buckets: the times in which the sides of connections sent packets."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.resolve.servers.bucket_hosts import HostNumbers
from kafkascope_analyzer.resolve.servers.hosts import ServerHosts
from kafkascope_analyzer.resolve.servers.run_union import Ints, Runs
from kafkascope_analyzer.scan.liveness_spans import RUN_COLUMNS, RUNS
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.tcp.spans import PACKETS, PAYLOAD

LAYERS = (PACKETS, PAYLOAD)
NEVER_NS = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class SpilledRuns:
    """A batch of spilled runs.

    conn, pair, server   numbers of ServerHosts; process: whose they are, NONE for those of other clients
    sender   the host that sent them; by_server: whether that is the server; layer: PACKETS or PAYLOAD
    columns   as in Runs
    """

    conn: Ints
    pair: Ints
    server: Ints
    process: Ints
    sender: Ints
    by_server: NDArray[np.bool_]
    layer: Ints
    columns: tuple[Ints, ...]

    @classmethod
    def of_rows(cls, rows: pa.Table, conn: Ints, hosts: HostNumbers) -> "SpilledRuns":
        """Returns spilled runs. conn: the connection of each row."""
        by_server = rows["side"].to_numpy() != hosts.client_side[conn]
        return cls(
            conn,
            hosts.pair[conn],
            hosts.server[conn],
            np.where(by_server, hosts.process[conn], hosts.client_process[conn]),
            np.where(by_server, hosts.server_host[conn], hosts.host[conn]),
            by_server,
            rows["layer"].to_numpy().astype(np.int64),
            tuple(rows[name].to_numpy() for name in RUN_COLUMNS),
        )

    def of(self, subject: Ints, rows: NDArray[np.bool_]) -> Runs:
        """Returns the chosen runs, by subject."""
        chosen = np.flatnonzero(rows & (subject >= 0))
        return Runs(subject[chosen], *(column[chosen] for column in self.columns))

    @property
    def answers(self) -> NDArray[np.bool_]:
        """Whether each run is payload of the server."""
        return np.asarray(self.by_server & (self.layer == PAYLOAD))


def spilled_runs(hosts: ServerHosts) -> Iterator[SpilledRuns]:
    """Yields all runs, batch by batch."""
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, RUNS):
            yield SpilledRuns.of_rows(rows, rows["conn"].to_numpy() + first, hosts)
