"""`Failures`: the failures of a capture, found by time and by client, as a long one may have thousands of them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_spark.incidents.failure import FOLLOWS_NS, SECOND, Failure


class Failures:
    """failures: where several fit, rules prefer those that come first."""

    def __init__(self, failures: Iterable[Failure]) -> None:
        self._place = {failure: place for place, failure in enumerate(failures)}
        self._times = Stretches((failure.start_ns, _followed_until(failure), failure) for failure in self._place)
        self._of_clients: dict[str, list[Failure]] = defaultdict(list)
        for failure in self._place:
            for client in failure.client_instance_ids:
                self._of_clients[client].append(failure)

    def at(self, from_ns: int, to_ns: int | None, client_instance_id: str | None = None) -> Sequence[Failure]:
        """The failures from which something in that time may follow: they had begun, or began within a second after
        it, and were not over for longer than FOLLOWS_NS; and those that the client had met at any time."""
        until = FOREVER if to_ns is None else to_ns + SECOND
        met = self._of_clients.get(client_instance_id or "", ())
        return sorted({*self._times.meeting(from_ns, until), *met}, key=self._place.__getitem__)


def _followed_until(failure: Failure) -> int:
    if failure.end_ns is None:
        return FOREVER
    return max(failure.end_ns, failure.affected_until_ns or failure.end_ns) + FOLLOWS_NS
