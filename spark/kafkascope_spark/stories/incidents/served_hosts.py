"""Which other hosts were served while one failed: the contrast that says where the failure was."""

from collections.abc import Iterable

from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_spark.stories.findings.wording import counted
from kafkascope_spark.stories.incidents.failure import Failure
from kafkascope_spark.stories.servers.table import BrokerState

MOST_HOSTS = 20
"""So many served hosts are looked for: more of them prove no more."""


class ServedHosts:
    """states: rows of broker_states."""

    def __init__(self, states: Iterable[BrokerState]) -> None:
        serving = (row for row in states if row.state == "serving" and row.host_kind == "client")
        self._times = Stretches((row.from_ns, row.until_ns, row.host) for row in serving)

    def beside(self, failure: Failure) -> frozenset[str]:
        """Other hosts with clients that were served at some time of the failure, at most MOST_HOSTS."""
        found: set[str] = set()
        until_ns = FOREVER if failure.end_ns is None else failure.end_ns
        for host in self._times.latest(failure.start_ns + 1, until_ns - 1):
            if host not in failure.hosts:
                found.add(host)
            if len(found) == MOST_HOSTS:
                break
        return frozenset(found)


def served_text(failure: Failure) -> str:
    """How many other hosts were served, as the end of a sentence: `2 other hosts were served`."""
    n = len(failure.served_meanwhile)
    more = " or more" if n == MOST_HOSTS else ""
    return f"{counted(n, 'other host')}{more} {'was' if n == 1 else 'were'} served"
