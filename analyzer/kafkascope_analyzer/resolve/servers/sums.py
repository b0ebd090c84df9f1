"""Sums over the runs and the requests of a bucket, which can be continued, and added to those of other buckets."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.resolve.servers.bucket_hosts import BucketHosts
from kafkascope_analyzer.resolve.servers.cells import Cells, Slices, renumbered
from kafkascope_analyzer.resolve.servers.run_union import Ints, Runs, RunUnion, spans, united
from kafkascope_analyzer.resolve.servers.samples import (
    SPILLED,
    LastResponses,
    Samples,
    fetch_reactions,
    no_responses,
    reactions,
    responses,
    sample_code,
)
from kafkascope_analyzer.resolve.servers.spilled_runs import LAYERS, SpilledRuns
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.liveness_spans import RUNS
from kafkascope_parsers.api_keys import FETCH
from kafkascope_parsers.tcp.spans import PACKETS

REQUESTS = "requests"
COLUMNS = {RUNS: None, REQUESTS: SPILLED}
"""The spilled tables that are added up, and the columns that are read; None for all."""
Batch: TypeAlias = SpilledRuns | pa.Table
"""Rows of RUNS, or of REQUESTS."""
_LATE_NS = 500_000_000
"""Shortest time for which a client is held up by a response that it waits for."""
_GIVEN_UP_NS = 30_000_000_000
"""Time after which a client waits no longer for a response that never came."""
_CHOICES: dict[str, tuple[str, Callable[[SpilledRuns], Runs]]] = {
    "served": ("server", lambda runs: runs.of(runs.server, runs.answers)),
    "listeners": ("process", lambda runs: runs.of(runs.process, runs.answers)),
    "of_hosts": ("host", lambda runs: runs.of(runs.sender, runs.layer == PACKETS)),
}
"""Runs that are joined by subject: the kind of numbers of the subjects, and which runs of a batch."""
_ENDS: dict[str, tuple[str, Callable[[SpilledRuns], Runs]]] = {
    "contacts": ("pair", lambda runs: runs.of(runs.pair, runs.by_server & (runs.layer == PACKETS))),
    "answered": ("pair", lambda runs: runs.of(runs.pair, runs.answers)),
    "first_payload": ("conn", lambda runs: runs.of(runs.conn, runs.answers)),
}
"""Runs of which only the first and the last packet of each subject are kept."""


class Sum(Protocol):
    """A sum over the rows of a spilled table. space: the kind of numbers that its subjects have (bucket_hosts.SPACES).
    What has been found is in plain values, which can be saved (scan.saved_state)."""

    TABLE: ClassVar[str]
    space: str

    def take(self, batch: Any) -> None:
        """Takes a batch of rows (Batch)."""
        ...

    def found(self) -> Any:
        """Returns what has been added up. It does not change when more rows are taken."""
        ...

    def resume(self, found: Any, numbers: Ints) -> bool:
        """Continues from what an earlier run has found, and returns True; False where that is of no use. numbers: the
        number now of each subject."""
        ...


class RunSum:
    """Joined runs. choose: the runs of a batch, by subject; join: joins them (run_union.united or spans)."""

    TABLE: ClassVar[str] = RUNS

    def __init__(self, space: str, choose: Callable[[SpilledRuns], Runs], join: Callable[[Runs], Runs]) -> None:
        self.space = space
        self._choose, self._union = choose, RunUnion(join)

    def take(self, batch: SpilledRuns) -> None:
        """Takes a batch of rows."""
        self._union.add(self._choose(batch))

    def found(self) -> list[Ints]:
        """Returns what has been added up."""
        return list(self._union.runs())

    def resume(self, found: list[Ints], numbers: Ints) -> bool:
        """Continues from what an earlier run has found; False where that is of no use."""
        self._union.add(Runs(numbers[found[0]], *found[1:]))
        return True


class LatencySum:
    """Samples, counted by subject, slice of time and sample_code. choose: the samples of a batch of requests, of
    their connections, and of the last responses on these."""

    TABLE: ClassVar[str] = REQUESTS

    def __init__(
        self,
        space: str,
        choose: Callable[[pa.Table, Ints, LastResponses], Iterator[Samples]],
        hosts: BucketHosts,
        slices: Slices,
    ) -> None:
        self.space = space
        self._choose, self._slices, self._cells = choose, slices, Cells()
        self._last = no_responses(len(hosts.conn))

    def take(self, batch: pa.Table) -> None:
        """Takes a batch of rows."""
        for samples in self._choose(batch, batch["conn"].to_numpy(), self._last):
            self._cells.count(samples.process, self._slices.of(samples.from_ns), sample_code(samples))

    def found(self) -> dict[str, Any]:
        """Returns what has been added up."""
        last = [column.copy() for column in self._last]
        return {"slices": self._slices.key(), "cells": self._cells.found(), "last": last}

    def resume(self, found: dict[str, Any], numbers: Ints) -> bool:
        """Continues from what an earlier run has found; False where that is of no use."""
        doublings = self._slices.doublings_since(*found["slices"])
        if doublings is None:
            return False
        self._cells.add(renumbered(found["cells"], numbers, doublings))
        for column, before in zip(self._last, found["last"], strict=True):
            column[: len(before)] = before
        return True


class HeldUpSum:
    """The slices of time in which clients began to wait long for another response than that to a Fetch, and in which
    they did so for the last time."""

    TABLE: ClassVar[str] = REQUESTS
    space = "client"

    def __init__(self, hosts: BucketHosts, slices: Slices) -> None:
        self._client, self._slices = hosts.client, slices
        self._cells = {"starts": Cells(), "ends": Cells()}

    def take(self, batch: pa.Table) -> None:
        """Takes a batch of rows."""
        client, sent = self._client[batch["conn"].to_numpy()], int_column(batch, "ts_ns", 0)
        answered = int_column(batch, "response_ns", 0)
        until = np.where(answered > 0, answered, sent + _GIVEN_UP_NS)
        is_late = (until - sent >= _LATE_NS) & (int_column(batch, "api_key", -1) != FETCH) & (client >= 0)
        late = np.flatnonzero(is_late)
        for cells, at_ns in zip(self._cells.values(), (sent[late], until[late]), strict=True):
            cells.count(client[late], self._slices.of(at_ns), np.zeros(len(late), np.int64))

    def found(self) -> dict[str, Any]:
        """Returns what has been added up."""
        return {"slices": self._slices.key()} | {name: cells.found() for name, cells in self._cells.items()}

    def resume(self, found: dict[str, Any], numbers: Ints) -> bool:
        """Continues from what an earlier run has found; False where that is of no use."""
        doublings = self._slices.doublings_since(*found["slices"])
        if doublings is None:
            return False
        for name, cells in self._cells.items():
            cells.add(renumbered(found[name], numbers, doublings))
        return True


def batch_of(table: str, rows: pa.Table, hosts: BucketHosts) -> Batch:
    """Returns rows of a spilled table in the form that its sums take."""
    return SpilledRuns.of_rows(rows, rows["conn"].to_numpy(), hosts) if table == RUNS else rows


@dataclass(frozen=True, slots=True)
class SlicesOf:
    """The time slices in which samples of processes and of clients are counted."""

    processes: Slices
    clients: Slices


def sums_of(hosts: BucketHosts, slices: SlicesOf) -> dict[str, Sum]:
    """Returns all sums over the rows of a bucket, by name."""

    def sent_in(layer: int) -> Callable[[SpilledRuns], Runs]:
        return lambda runs: runs.of(runs.process, runs.layer == layer)

    def of_processes(rows: pa.Table, conn: Ints, last: LastResponses) -> Iterator[Samples]:
        yield responses(hosts, rows, conn)
        yield reactions(hosts, rows, conn, last)

    def of_clients(rows: pa.Table, conn: Ints, last: LastResponses) -> Iterator[Samples]:
        yield fetch_reactions(rows, conn, hosts.client[conn], last)

    joined = _CHOICES | {f"sent.{layer}": ("process", sent_in(layer)) for layer in LAYERS}
    return {
        **{name: RunSum(*chosen, united) for name, chosen in joined.items()},
        **{name: RunSum(*chosen, spans) for name, chosen in _ENDS.items()},
        "processes": LatencySum("process", of_processes, hosts, slices.processes),
        "clients": LatencySum("client", of_clients, hosts, slices.clients),
        "held_up": HeldUpSum(hosts, slices.clients),
    }
