"""When a server was slow: several connections had responses much later than it usually takes.

Responses that the server could have given by itself show that it was slow. Others, which may wait for other brokers
(Produce, OffsetCommit), show only how long it was.
"""

from collections import defaultdict

from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.record import ServerRecord, Wait
from kafkascope_spark.stories.servers.stretch import SECOND_NS, Stretch, times_of

_LEAST_CONNECTIONS = 2
"""One connection alone may be throttled."""
_APART_NS = 2 * SECOND_NS


def slow_stretches(server: ServerRecord, others: list[Stretch]) -> list[Stretch]:
    """The stretches in which the server was slow, by host. others: those of all other states, which explain more."""
    explained = times_of(others)
    late = [wait for wait in server.waits if wait.is_slow and wait.until is not None]
    late = [wait for wait in late if not explained.overlap(wait.asked.ts_ns, server.end_ns(wait.until))]
    found: list[Stretch] = []
    for together in _together(late):
        if len({wait.conn_id for wait in together if wait.is_proof}) >= _LEAST_CONNECTIONS:
            found += _of_hosts(together)
    return found


def _together(late: list[Wait]) -> list[list[Wait]]:
    """The late responses in groups that have a pause between them."""
    groups: list[list[Wait]] = []
    end = 0
    for wait in late:
        assert wait.until is not None
        if groups and wait.asked.ts_ns < end + _APART_NS:
            groups[-1].append(wait)
        else:
            groups.append([wait])
        end = max(end, wait.until.ts_ns)
    return groups


def _of_hosts(late: list[Wait]) -> list[Stretch]:
    hosts: dict[str, list[Wait]] = defaultdict(list)
    for wait in late:
        hosts[wait.host].append(wait)
    return [_of_host(host, waits) for host, waits in hosts.items()]


def _of_host(host: str, late: list[Wait]) -> Stretch:
    """From the first request that waited to the last response."""
    answers: list[Moment] = [wait.until for wait in late if wait.until is not None]
    requests = [(wait.asked.ts_ns, wait.request_id) for wait in late if wait.request_id is not None]
    moments = [*(wait.asked for wait in late), *answers]
    n = len({wait.conn_id for wait in late})
    return Stretch(host, "slow", late[0].asked, max(answers), True, n, moments, requests)
