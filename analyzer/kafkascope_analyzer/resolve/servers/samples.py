"""Samples of how quick a process or a client is: the latency of responses that a server gives without another broker
(beyond what the request allows it to wait), and the time from a response to the next Fetch. The first request of a
connection, which most clients open with ApiVersions, is no sample: the process may accept the connection late.

Durations are counted in classes, four to an octave, so that memory does not grow with their number.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.resolve.servers.bucket_hosts import HostNumbers
from kafkascope_analyzer.resolve.servers.hosts import NONE, ServerHosts
from kafkascope_analyzer.resolve.servers.run_union import Ints
from kafkascope_analyzer.scan.apis import ApiSet, int_column
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.api_keys import (
    FETCH,
    FIND_COORDINATOR,
    LIST_OFFSETS,
    METADATA,
    OFFSET_FETCH,
    OFFSET_FOR_LEADER_EPOCH,
)

Floats = NDArray[np.float64]
LastResponses = tuple[Ints, Ints]
"""Time and packet of the last response to a Fetch on each connection."""

_SERVED = (FETCH, LIST_OFFSETS, METADATA, OFFSET_FETCH, FIND_COORDINATOR, OFFSET_FOR_LEADER_EPOCH)
_APIS = ApiSet(_SERVED)
_REACTION = len(_SERVED)
"""The kind of samples for the time from a response to the next Fetch of a replica."""
N_KINDS = 2 * (_REACTION + 1)
"""Number of kinds: samples of clients, which may be further away, have different kinds from those of brokers."""
PER_OCTAVE, N_CLASSES = 4, 128
_NS_PER_US = 1_000
SPILLED = ["conn", "number", "api_key", "ts_ns", "request_last_ns", "request_packet_no", "response_ns"]
SPILLED += ["response_packet_no", "max_wait_ms", "in_flight", "throttle_ms", "replica_id"]
"""The columns of spilled requests of which samples are made."""


class Samples(NamedTuple):
    """Durations with their process, kind, beginning (or the time at which they were due) and request."""

    process: Ints
    kind: Ints
    from_ns: Ints
    took_ns: Ints
    conn: Ints
    number: Ints
    packet_no: Ints
    end_packet_no: Ints

    def taken(self, rows: NDArray[np.generic]) -> "Samples":
        """Returns the chosen samples."""
        return Samples(*(column[rows] for column in self))


def spilled_requests(hosts: ServerHosts) -> Iterator[tuple[pa.Table, Ints, LastResponses]]:
    """Yields the spilled requests with their connections, and room for the last response on each of these."""
    for spill, first in hosts.first_row.items():
        last = no_responses(hosts.connections.num_rows)
        for rows in read_spill(spill, "requests", SPILLED):
            yield rows, rows["conn"].to_numpy() + first, last


def no_responses(n_connections: int) -> LastResponses:
    """Returns zeros: there was no response on any of so many connections."""
    return np.zeros(n_connections, np.int64), np.zeros(n_connections, np.int64)


def responses(hosts: HostNumbers, rows: pa.Table, conn: Ints) -> Samples:
    """Returns samples for the responses that servers gave by themselves; for a Fetch that waited for records, its
    excess over that wait."""
    api_key, in_flight = int_column(rows, "api_key", -1), int_column(rows, "in_flight", 1)
    sent, answered = int_column(rows, "request_last_ns", 0), int_column(rows, "response_ns", 0)
    due = sent + np.maximum(int_column(rows, "max_wait_ms", 0), 0) * 1_000_000
    took = answered - due
    kept = _APIS.has(api_key) & (in_flight <= 1) & (int_column(rows, "throttle_ms", 0) <= 0)
    kept &= (api_key != FETCH) | np.asarray(rows["max_wait_ms"].is_valid())
    number = rows["number"].to_numpy()
    kept &= (answered > 0) & (took >= 0) & (number > 0) & (hosts.process[conn] != NONE)
    kind = np.full(len(conn), NONE)
    for place, api in enumerate(_SERVED):
        kind[api_key == api] = place
    packets = (int_column(rows, name, 0) for name in ("request_packet_no", "response_packet_no"))
    kind += np.where(hosts.client_process[conn] != NONE, N_KINDS // 2, 0)
    columns = (hosts.process[conn], kind, due, took, conn, number, *packets)
    return Samples(*columns).taken(np.flatnonzero(kept))


def reactions(hosts: HostNumbers, rows: pa.Table, conn: Ints, last: LastResponses) -> Samples:
    """Returns samples for the time from a leader's response to a replica's next Fetch."""
    process = np.where(int_column(rows, "replica_id", -1) >= 0, hosts.client_process[conn], NONE)
    samples = fetch_reactions(rows, conn, process, last)
    return samples._replace(kind=samples.kind + N_KINDS // 2 + _REACTION)


def fetch_reactions(rows: pa.Table, conn: Ints, process: Ints, last: LastResponses) -> Samples:
    """Returns samples, all of kind 0, for the time from the response to a Fetch to the next Fetch on the connection.
    conn, process: connection and process of each row, NONE for rows to be left out. last: time and packet of the last
    response to a Fetch on each connection; updated."""
    at = np.flatnonzero((int_column(rows, "api_key", -1) == FETCH) & (process != NONE))
    number = rows["number"].to_numpy()
    at = at[np.lexsort((number[at], conn[at]))]
    mine, sent, answered = conn[at], int_column(rows, "ts_ns", 0)[at], int_column(rows, "response_ns", 0)[at]
    packet_no, until = (int_column(rows, f"{name}_packet_no", 0)[at] for name in ("request", "response"))
    is_first = np.append(True, mine[1:] != mine[:-1])[: len(at)]
    before_ns = np.where(is_first, last[0][mine], np.roll(answered, 1))
    before_packet = np.where(is_first, last[1][mine], np.roll(until, 1))
    last[0][mine], last[1][mine] = answered, until
    kept = (before_ns > 0) & (sent >= before_ns)
    kind = np.zeros(len(at), np.int64)
    columns = (process[at], kind, before_ns, sent - before_ns, mine, number[at], before_packet, packet_no)
    return Samples(*columns).taken(np.flatnonzero(kept))


def class_of(took_ns: Ints) -> Ints:
    """Returns the class of each duration."""
    octaves = np.log2(np.maximum(took_ns / _NS_PER_US, 1))
    return np.minimum((octaves * PER_OCTAVE).astype(np.int64), N_CLASSES - 1)


def sample_code(samples: Samples) -> Ints:
    """Returns a number for the kind and the class of each sample: kind * N_CLASSES + class."""
    return samples.kind * N_CLASSES + class_of(samples.took_ns)


def shortest_ns(classes: Ints) -> Ints:
    """Returns the shortest duration of each class."""
    return np.asarray((2 ** (classes / PER_OCTAVE) * _NS_PER_US).astype(np.int64))


def times_usual(samples: Samples, usual: Ints) -> Floats:
    """Returns how many doublings above the usual each sample is; NaN where that is not known. usual: the usual class of
    each subject and kind, NONE where there is none."""
    compared = usual[samples.process, samples.kind]
    ratio = np.maximum(samples.took_ns, _NS_PER_US) / np.where(compared >= 0, shortest_ns(compared), np.nan)
    return np.asarray(np.log2(ratio))
