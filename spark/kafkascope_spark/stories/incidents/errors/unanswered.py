"""Stalls that no failed broker or path explains, while a request that would end them was never answered, nor any later
request on its connection. The broker continues to serve other connections."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.findings.wording import node
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failures.failure_index import KeyedStretches
from kafkascope_spark.stories.incidents.kinds.unanswered import UNANSWERED
from kafkascope_spark.stories.incidents.packets.latencies import Asked, Latencies
from kafkascope_spark.stories.incidents.packets.unanswered_requests import UnansweredRequest
from kafkascope_spark.stories.stalls.apis import ANSWERED_BY_ONE_BROKER
from kafkascope_spark.stories.stalls.table import Stall

_AWAITED = frozenset().union(*ANSWERED_BY_ONE_BROKER.values())
_PAIR = "host and node"
_APART_NS = 2 * SECOND
"""Stalls at one node with less time than this between them are one failure."""


def unanswered_failures(
    stalls: Iterable[Stall],
    ask: Callable[[int, Collection[int]], Sequence[UnansweredRequest]],
    ask_others: Callable[[Sequence[Asked]], list[Latencies]],
) -> Iterator[Failure]:
    """Yields one failure for each node and time. ask: returns the unanswered requests of some APIs sent by a time;
    ask_others: returns how long responses to other requests took."""
    waiting = sorted((s for s in stalls if _can_wait(s)), key=lambda s: (s.from_ns, s.stall_id))
    if not waiting:
        return
    on_the_way: KeyedStretches[UnansweredRequest] = KeyedStretches()
    for request in ask(max(map(_until, waiting)), _AWAITED):
        on_the_way.add((_PAIR, (request.client_ip, request.node_id)), request.ts_ns, request.until_ns, request)
    found: list[Failure] = []
    last_of: dict[int, Failure] = {}
    for stall in waiting:
        of_pair = on_the_way.of((_PAIR, (stall.client_ip, stall.node_id)))
        requests = [each for each in of_pair.meeting(stall.from_ns, _until(stall)) if _explains(each, stall)]
        if requests and stall.node_id is not None:
            failure = last_of.get(stall.node_id)
            if failure is None or failure.affected_to_ns + _APART_NS < stall.from_ns:
                failure = last_of[stall.node_id] = _begun(stall, requests[0])
                found.append(failure)
            _take(failure, stall, requests)
    asked = [Asked(failure.start_ns, failure.affected_to_ns, _AWAITED) for failure in found]
    for failure, latencies in zip(found, ask_others(asked), strict=True):
        failure.responses.latencies = latencies.of_nodes({failure.node_id or 0})
        yield failure


def _can_wait(stall: Stall) -> bool:
    return stall.kind in ANSWERED_BY_ONE_BROKER and stall.node_id is not None and stall.client_ip is not None


def _until(stall: Stall) -> int:
    return FOREVER if stall.to_ns is None else stall.to_ns


def _explains(request: UnansweredRequest, stall: Stall) -> bool:
    """Whether the request was in flight for most of the stall."""
    waited_ns = stall.waited_ms * 1_000_000
    until_ns = stall.from_ns + waited_ns if stall.to_ns is None else stall.to_ns
    shared_ns = min(request.until_ns, until_ns) - max(request.ts_ns, stall.from_ns)
    return request.api_key in ANSWERED_BY_ONE_BROKER[stall.kind] and 2 * shared_ns >= waited_ns


def _begun(stall: Stall, request: UnansweredRequest) -> Failure:
    failure = Failure(UNANSWERED, node(request.node_id, request.server), stall.from_ns, stall.to_ns)
    failure.node_id, failure.server, failure.servers = request.node_id, request.server, frozenset({request.server})
    return failure


def _take(failure: Failure, stall: Stall, requests: Iterable[UnansweredRequest]) -> None:
    failure.stalls.append(stall)
    failure.end_ns = None if failure.end_ns is None or stall.to_ns is None else max(failure.end_ns, stall.to_ns)
    for request in requests:
        failure.responses.unanswered[request.request_id] = request
        failure.hosts |= {request.client_ip}
