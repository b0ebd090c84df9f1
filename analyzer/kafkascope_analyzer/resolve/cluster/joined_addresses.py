"""Groups server addresses into clusters, as far as messages show it: sets of addresses, each with one cluster id or
none."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafkascope_analyzer.connections.nodes import Endpoint


@dataclass(frozen=True, slots=True)
class Advertised:
    """An address that a response names. by: the address that answered; cluster_id: the id in the responses of the
    connection, None where they have none."""

    address: Endpoint
    by: Endpoint
    cluster_id: str | None


class JoinedAddresses:
    """Sets of addresses. carried: for each address the cluster ids in messages of its connections, each with its rank
    among them; advertised: addresses that responses name."""

    def __init__(
        self, carried: Mapping[Endpoint, Mapping[str, tuple[int, int]]], advertised: Iterable[Advertised]
    ) -> None:
        self._above: dict[Endpoint | str, Endpoint | str] = {}
        named = sorted(set(advertised), key=lambda each: (each.address, each.by, each.cluster_id or ""))
        for address, ranks in sorted(carried.items()):
            for cluster_id in ranks:
                self._top(cluster_id)  # the cluster id may be that of only some of the connections
            self._join(address, max(ranks, key=lambda each: (*ranks[each], each)))
        self._join_advertised(one for one in named if one.cluster_id is not None and one.address not in carried)
        for one in named:
            if one.cluster_id is None:
                self._join(one.address, one.by)
        self._join_hosts()

    def set_of(self, name: Endpoint | str) -> Endpoint | str | None:
        """Returns the representative of the set of an address or a cluster id: the id, where the set has one. None
        where no message names it."""
        return self._top(name) if name in self._above else None

    def sets(self) -> set[Endpoint | str]:
        """Returns the representative of each set."""
        return {self._top(name) for name in self._above}

    def _join_advertised(self, named: Iterable[Advertised]) -> None:
        """Joins addresses with the cluster id whose responses advertise them, where only one does."""
        ids: dict[Endpoint, set[str]] = defaultdict(set)
        for one in named:
            ids[one.address].add(one.cluster_id or "")
        for address, of_address in ids.items():
            if len(of_address) == 1:
                self._join(address, *of_address)

    def _join_hosts(self) -> None:
        """Joins sets without an id with other sets that have addresses on the same host: a broker may have several
        ports, of which its responses name one."""
        on_host: dict[str, set[Endpoint]] = defaultdict(set)
        for name in self._above:
            if isinstance(name, tuple):
                on_host[name[0]].add(name)
        for _, addresses in sorted(on_host.items()):
            with_id = {top for each in addresses if isinstance(top := self._top(each), str)}
            if len(with_id) <= 1:
                first = min(addresses)
                for address in sorted(addresses):
                    self._join(first, address)

    def _join(self, one: Endpoint | str, other: Endpoint | str) -> None:
        """Merges two sets, unless they have different ids."""
        above, below = self._top(one), self._top(other)
        if isinstance(below, str) and isinstance(above, str):
            return
        if isinstance(below, str) or (not isinstance(above, str) and below < above):
            above, below = below, above
        self._above[below] = above

    def _top(self, name: Endpoint | str) -> Endpoint | str:
        self._above.setdefault(name, name)
        while self._above[name] != name:
            self._above[name] = self._above[self._above[name]]
            name = self._above[name]
        return name
