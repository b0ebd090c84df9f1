"""Consumers that seem to poll too rarely, and fetched other topic-partitions all the time: they left some out."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.findings.wording import client
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.kinds.not_fetched import NOT_FETCHED
from kafkascope_spark.stories.incidents.packets.fetch_counts import FetchedBy
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.stalls.table import Stall

LEFT_OUT_MS = 10_000
"""A consumer that knows the new leader fetches from it within a second, or after a timeout of its connection
(socket.connection.setup.timeout.ms, 10 s)."""
MOST_ASKED = 50
"""Largest number of consumers of which the Fetch requests are counted: those that waited longest."""


def mark_left_out(failures: Iterable[Failure], count: Callable[[Sequence[FetchedBy]], list[int]]) -> None:
    """Changes the kind of late polls to `not_fetched` where the client sent a Fetch each second on average for as long
    as its records waited. count: `fetch_counts` of the dataset."""
    longest = {failure: max(failure.stalls, key=lambda stall: stall.waited_ms) for failure in failures}
    chosen = nlargest(MOST_ASKED, longest.items(), key=lambda each: each[1].waited_ms)
    asked = [(failure, stall) for failure, stall in chosen if stall.client_ip is not None]
    counts = count([_question(stall) for _, stall in asked])
    for (failure, stall), n in zip(asked, counts, strict=True):
        failure.n_other_fetches = n
        if n * SECOND >= stall.waited_ms * 1_000_000:
            failure.kind = NOT_FETCHED


def has_left_out(stall: Stall, failure: Failure) -> bool:
    """Whether a consumer got the new leader of a topic-partition from Metadata, and sent no Fetch for it until
    the capture ended: it does not wait for the move."""
    return failure.kind.is_move and _left_at(stall, failure.recoveries_of) is not None


def left_after_moves(stalls: Iterable[Stall], recoveries: Iterable[ClientRecovery]) -> Iterator[Failure]:
    """Yields one failure for each consumer that left topic-partitions out when their leaders had moved."""
    of_client: dict[tuple[str, str], list[ClientRecovery]] = defaultdict(list)
    for row in recoveries:
        of_client[row.client_instance_id, row.resource].append(row)
    found: dict[str, Failure] = {}
    for stall in stalls:
        left_at = _left_at(stall, of_client)
        if left_at is None:
            continue
        name = client(stall.client_id, stall.client_ip)
        failure = found.setdefault(left_at.client_instance_id, Failure(NOT_FETCHED, name, stall.from_ns, None))
        failure.start_ns = min(failure.start_ns, stall.from_ns)
        failure.client_instance_ids.add(left_at.client_instance_id)
        failure.hosts |= {stall.client_ip} if stall.client_ip else frozenset()
        failure.topic.left_at = failure.topic.left_at or left_at
        failure.stalls.append(stall)
    yield from found.values()


def _left_at(stall: Stall, of_client: Mapping[tuple[str, str], Sequence[ClientRecovery]]) -> ClientRecovery | None:
    """Returns the last error before the stall after which the client got Metadata, and sent no request to the leader.
    of_client: recoveries by client and resource."""
    if stall.kind != "consume" or stall.to_ns is not None or stall.waited_ms < LEFT_OUT_MS:
        return None
    rows = of_client.get((stall.client_instance_id or "", f"{stall.topic}-{stall.partition}"), ())
    before = (row for row in rows if row.start_ns <= stall.from_ns + SECOND and _is_unused(row))
    return max(before, key=lambda row: row.start_ns, default=None)


def _is_unused(row: ClientRecovery) -> bool:
    """Whether the client got Metadata after the error, and sent no request for the topic-partition from then on."""
    has_metadata = row.resource_kind == "partition" and row.refreshed_ns is not None
    return has_metadata and row.retried_ns is None and row.recovered_ns is None


def _question(stall: Stall) -> FetchedBy:
    """Returns the question for the time of a stall, without the Fetch that ended it."""
    to_ns = FOREVER if stall.to_ns is None else stall.to_ns - 1
    return FetchedBy(str(stall.client_ip), stall.client_id, stall.from_ns, to_ns)
