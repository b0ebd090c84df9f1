"""Consumers that seem to poll too rarely, and fetched other topic-partitions all the time: they left some out."""

from collections.abc import Callable, Iterable, Sequence
from heapq import nlargest

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.incidents.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.fetch_counts import FetchedBy
from kafkascope_spark.stories.incidents.kinds.not_fetched import NOT_FETCHED
from kafkascope_spark.stories.stalls.table import Stall

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
        if n * SECOND >= stall.waited_ms * 1_000_000:
            failure.kind = NOT_FETCHED
            failure.n_other_fetches = n


def _question(stall: Stall) -> FetchedBy:
    """Returns the question for the time of a stall, without the Fetch that ended it."""
    to_ns = FOREVER if stall.to_ns is None else stall.to_ns - 1
    return FetchedBy(str(stall.client_ip), stall.client_id, stall.from_ns, to_ns)
