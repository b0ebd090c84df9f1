"""`ClientStories`: the machine over one client address after the other, which makes rows of the story tables.

`feed(batch)` takes rows in the order of `events` (and asserts that), any number at a time; `finish()` returns the
remaining rows. Memory is that of one address: its connections, and per client its start and its open recoveries.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_spark.stories.clients.address import Address, Owner
from kafkascope_spark.stories.clients.client import Story
from kafkascope_spark.stories.event_decoder import EventRow, Key
from kafkascope_spark.stories.stalls.stall import StallLimits

ADDRESS = "client address"
"""Kind of failed part for an error before the connections of an address are grouped into clients."""


class ClientStories:
    """Makes rows of story tables from rows of events. capture_ns: first and last packet of the capture; limits: which
    waits are stalls; failed_parts: collects addresses and clients that raise an error, so that the others still run."""

    def __init__(
        self, capture_ns: tuple[int, int], limits: StallLimits, failed_parts: FailedParts | None = None
    ) -> None:
        self._capture_ns = capture_ns
        self._limits = limits
        self._failed_parts = FailedParts() if failed_parts is None else failed_parts
        self._part = self._failed_parts.part(ADDRESS)
        """Catches the errors of the address."""
        self._address: Address | None = None
        self._last: Key = ("", 0, 0, 0)
        self._owners: dict[str, Owner] = {}

    def feed(self, batch: Iterable[EventRow]) -> Iterator[Story]:
        """Yields the story rows that the batch completes. Raises ValueError if the rows are out of order."""
        for client_ip, events in groupby(self._in_order(batch), key=_address_of):
            if self._address is None or self._address.client_ip != client_ip:
                yield from self.finish()
                self._address = Address(client_ip, self._capture_ns, self._limits, self._failed_parts)
                self._part = self._failed_parts.part(ADDRESS, client_ip)
            self._take(self._address, list(events))
        if self._address is not None:
            yield from self._part.rows(self._address.ready)

    def _in_order(self, batch: Iterable[EventRow]) -> Iterator[EventRow]:
        """Yields the rows of the batch. Raises ValueError if they are out of order."""
        for event in batch:
            if event[0] < self._last:
                raise ValueError(f"events out of order: {event[0]} after {self._last}")
            self._last = event[0]
            yield event

    def _take(self, address: Address, events: list[EventRow]) -> None:
        if not self._part.has_failed:
            with self._part:
                for key, body in events:
                    address.take(key, body)

    def take_owners(self) -> dict[str, Owner]:
        """Returns conn_id -> client_instance_id and group, for the addresses that were fed since the last call, and for
        the present one."""
        owners, self._owners = self._owners, {}
        return owners | self._owners_so_far()

    def finish(self) -> Iterator[Story]:
        """Yields the story rows of the last address."""
        if self._address is not None:
            yield from self._part.rows(self._address.finish)
            self._owners |= self._owners_so_far()
            self._address = None

    def _owners_so_far(self) -> dict[str, Owner]:
        """Returns the owners of the address's connections; none if that raises an error."""
        if self._address is not None:
            with self._part:
                return self._address.owners()
        return {}


def _address_of(event: EventRow) -> str:
    return event[0][0]
