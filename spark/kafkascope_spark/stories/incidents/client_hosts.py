"""Hosts with clients that nobody reached: they sent nothing to anybody, and acknowledged nothing, while servers sent
again and again (state host_silent)."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.kinds.client_host import CLIENT_HOST
from kafkascope_spark.stories.servers.table import BrokerState

SAME_NS = SECOND
"""Hosts that fell silent, and came back, within so much of each other failed together."""


def unreachable_hosts(states: Iterable[BrokerState]) -> list[Failure]:
    """The failures, in order of time. Brokers and controllers that are silent to everybody are told as such."""
    known = list(states)
    silent = [row for row in known if row.state == "host_silent" and row.host_kind == "client"]
    silences = sorted(_silences(silent), key=lambda rows: (rows[0].from_ns, rows[0].host))
    failures: list[Failure] = []
    for rows in silences:
        together = next((f for f in failures if _is_together(f, rows)), None)
        if together is None:
            together = Failure(CLIENT_HOST, "", rows[0].from_ns, rows[0].to_ns)
            failures.append(together)
        together.states += rows
        together.hosts |= {rows[0].host}
        together.subject = listed(sorted(together.hosts))
    for failure in failures:
        failure.served_meanwhile = served_meanwhile(known, failure)
    return failures


def _silences(rows: list[BrokerState]) -> Iterator[list[BrokerState]]:
    """The states of each silence of a host: as it says the same to all servers, they have its begin in common."""
    ordered = sorted(rows, key=attrgetter("host", "from_ns", "server"))
    for _, silence in groupby(ordered, key=attrgetter("host", "from_ns")):
        yield list(silence)


def _is_together(failure: Failure, rows: list[BrokerState]) -> bool:
    until = FOREVER if failure.end_ns is None else failure.end_ns
    return abs(rows[0].from_ns - failure.start_ns) <= SAME_NS and abs(rows[0].until_ns - until) <= SAME_NS


def served_meanwhile(states: Iterable[BrokerState], failure: Failure) -> frozenset[str]:
    """The other hosts with clients that were served at some time of the failure."""
    until = FOREVER if failure.end_ns is None else failure.end_ns
    serving = (row for row in states if row.state == "serving" and row.host_kind == "client")
    during = (row for row in serving if row.from_ns < until and row.until_ns > failure.start_ns)
    return frozenset(row.host for row in during) - failure.hosts
