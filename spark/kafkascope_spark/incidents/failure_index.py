"""`Failures`: the failures of a capture, found by time and by client, as a long one may have thousands of them."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate

from kafkascope_spark.incidents.failure import FOLLOWS_NS, FOREVER, SECOND, Failure


class Failures:
    """failures: where several fit, rules prefer those that come first."""

    def __init__(self, failures: Iterable[Failure]) -> None:
        self._place = {failure: place for place, failure in enumerate(failures)}
        by_start = sorted(self._place, key=lambda f: f.start_ns)
        self._over = [f for f in by_start if f.end_ns is not None]
        self._open = [f for f in by_start if f.end_ns is None]
        self._latest_ends = list(accumulate(map(_followed_until, self._over), max))
        self._of_clients: dict[str, list[Failure]] = defaultdict(list)
        for failure in self._place:
            for client in failure.client_instance_ids:
                self._of_clients[client].append(failure)

    def at(self, from_ns: int, to_ns: int | None, client_instance_id: str | None = None) -> Sequence[Failure]:
        """The failures from which something in that time may follow: they had begun, or began within a second after
        it, and were not over for longer than FOLLOWS_NS; and those that the client had met at any time."""
        until = (FOREVER if to_ns is None else to_ns) + SECOND
        over = self._over[bisect_left(self._latest_ends, from_ns) : bisect_right(self._over, until, key=_start_ns)]
        still_open = self._open[: bisect_right(self._open, until, key=_start_ns)]
        met = self._of_clients.get(client_instance_id or "", ())
        found = {*(f for f in over if _followed_until(f) >= from_ns), *still_open, *met}
        return sorted(found, key=self._place.__getitem__)


def _start_ns(failure: Failure) -> int:
    return failure.start_ns


def _followed_until(failure: Failure) -> int:
    ends = (failure.end_ns, failure.affected_until_ns)
    return max(end for end in ends if end is not None) + FOLLOWS_NS
