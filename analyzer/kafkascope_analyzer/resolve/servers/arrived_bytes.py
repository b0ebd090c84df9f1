"""Lengths of the packets that arrived between a host and a server while others were lost. Where only long ones are
lost, a link on the path does not transmit packets of their length (MTU)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.resolve.servers.hosts import ServerHosts
from kafkascope_analyzer.resolve.servers.run_union import Ints
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.spill import read_spill

PROMPT_NS = 1_000_000_000
"""Longest time to the answer for which a frame counts as arrived on its first attempt: a frame that was lost more than
twice takes longer."""
LEAST_ARRIVED = 3
_COLUMNS = ["conn", "number", "ts_ns", "response_ns", "request_bytes", "response_bytes"]


@dataclass(frozen=True, slots=True)
class Arrived:
    """Frames that arrived at once: times at which they were sent, and lengths. way: 2 * pair of ServerHosts, plus 1 for
    frames of the server."""

    way: Ints
    ts_ns: Ints
    n_bytes: Ints


def most_arrived(hosts: ServerHosts, way: Ints, first_ns: Ints, last_ns: Ints) -> Ints:
    """Returns the length of the longest frame that arrived at once, for each span of time on a way; 0 where fewer than
    LEAST_ARRIVED frames did. The spans of a way do not overlap."""
    most, n = np.zeros(len(way), np.int64), np.zeros(len(way), np.int64)
    if not len(way):
        return most
    order = np.lexsort((first_ns, way))
    begins = np.searchsorted(way[order], np.unique(way))
    of_way = dict(zip(np.unique(way).tolist(), np.split(order, begins[1:]), strict=True))
    for arrived in _arrived(hosts, np.isin(np.arange(2 * len(hosts.pair_server)), way)):
        for one, stretches in of_way.items():
            rows = np.flatnonzero(arrived.way == one)
            place = np.searchsorted(first_ns[stretches], arrived.ts_ns[rows]) - 1
            rows, at = rows[place >= 0], stretches[place[place >= 0]]
            inside = arrived.ts_ns[rows] < last_ns[at]
            np.add.at(n, at[inside], 1)
            np.maximum.at(most, at[inside], arrived.n_bytes[rows[inside]])
    return np.where(n >= LEAST_ARRIVED, most, 0)


def _arrived(hosts: ServerHosts, asked: NDArray[np.bool_]) -> Iterator[Arrived]:
    """Yields requests that were answered at once, and responses after which the client sent its next request at once.
    asked: mask of the wanted ways."""
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, "requests", _COLUMNS):
            conn = rows["conn"].to_numpy() + first
            sent, answered = int_column(rows, "ts_ns", 0), int_column(rows, "response_ns", 0)
            way = 2 * hosts.pair[conn]
            known = (way >= 0) & (answered > 0)
            yield _taken(
                way, sent, rows["request_bytes"].to_numpy(), known & asked[way] & (answered - sent <= PROMPT_NS)
            )
            order = np.lexsort((rows["number"].to_numpy(), conn))
            following = np.zeros(len(conn), np.int64)
            same = np.diff(conn[order]) == 0
            following[order[:-1][same]] = sent[order[1:][same]]
            soon = (following >= answered) & (following - answered <= PROMPT_NS)
            size = int_column(rows, "response_bytes", 0)
            yield _taken(way + 1, answered, size, known & asked[way + 1] & soon)


def _taken(way: Ints, ts_ns: Ints, n_bytes: Ints, rows: NDArray[np.bool_]) -> Arrived:
    return Arrived(way[rows], ts_ns[rows], n_bytes[rows])
