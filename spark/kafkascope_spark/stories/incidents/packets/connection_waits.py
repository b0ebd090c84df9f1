"""How long hosts waited for a connection to a server, by the attempts that were not answered."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of, read
from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_spark.stories.incidents.packets.meanwhile import rows_within

LATE_US = 1_000_000
"""A kernel repeats a SYN after this time (RFC 6298, 2.1): the first one, or its answer, was lost."""


@dataclass(frozen=True, slots=True)
class Unreached:
    """A time in which a host got nothing from a server (`address:port`)."""

    host: str
    server: str
    from_ns: int
    to_ns: int


@dataclass(frozen=True, slots=True)
class _Attempt(Row):
    """A connection of a host to a server."""

    TABLE: ClassVar[Table] = CONNECTIONS
    client_ip: str
    server_ip: str
    server_port: int
    syn_ns: int | None


def connection_waits(dataset: Dataset | None, questions: Sequence[Unreached]) -> list[int]:
    """Returns, for each question, the longest time for which the host waited for a connection to the server: from the
    SYN of an unanswered attempt to the next response of any server to the host, at most to the end of the time that
    is asked for; 0 if it did not try to connect. Raises UsageError where a table cannot be read. Memory: unanswered
    attempts of these hosts, and the times of responses to them in these times."""
    if dataset is None or not questions:
        return [0] * len(questions)
    attempts = _attempts_of(dataset, {each.host for each in questions})
    begins = [_within(attempts[each.host, each.server], each) for each in questions]
    spans = [(tried[0], each.to_ns) if tried else (0, 0) for tried, each in zip(begins, questions, strict=True)]
    served: list[list[int]] = [[] for _ in questions]
    for number, rows in rows_within(dataset, REQUESTS, ["client_ip", "response_ns"], "response_ns", spans):
        mine = rows.filter(pc.equal(rows["client_ip"], questions[number].host))
        served[number] += mine["response_ns"].to_pylist()
    return [
        _longest(tried, sorted(answers), each.to_ns)
        for tried, answers, each in zip(begins, served, questions, strict=True)
    ]


def _attempts_of(dataset: Dataset, hosts: Collection[str]) -> dict[tuple[str, str], list[int]]:
    """Returns the times of the SYNs that were not answered within LATE_US, in order, by host and server."""
    field = ds.field
    unanswered = (field("close_kind") == "unanswered") | (field("handshake_us") >= LATE_US)
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in read(dataset, _Attempt, unanswered & one_of("client_ip", sorted(hosts))):
        if row.syn_ns is not None:
            found[row.client_ip, f"{row.server_ip}:{row.server_port}"].append(row.syn_ns)
    return defaultdict(list, {pair: sorted(times) for pair, times in found.items()})


def _within(times: list[int], asked: Unreached) -> list[int]:
    return times[bisect_left(times, asked.from_ns) : bisect_left(times, asked.to_ns)]


def _longest(tried: list[int], answers: list[int], until_ns: int) -> int:
    """Returns the longest time from an attempt to the next answer."""
    return max((_next(answers, at, until_ns) - at for at in tried), default=0)


def _next(answers: list[int], at: int, until_ns: int) -> int:
    later = bisect_right(answers, at)
    return answers[later] if later < len(answers) else until_ns
