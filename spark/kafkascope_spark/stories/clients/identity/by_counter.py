"""Groups the connections of one client name into client instances, for the Java client: it counts correlation ids over
all its connections (NetworkClient.correlation), so that the ids of two instances collide."""

from kafkascope_spark.stories.clients.identity.candidate import InstanceCandidate
from kafkascope_spark.stories.clients.identity.shared_counter import SharedCounter
from kafkascope_spark.stories.libraries.registry import library_of_software
from kafkascope_spark.stories.model import Connection

LOOK_BACK = 64
"""Ended candidates, the last ones, with which a connection is compared when it fits none that goes on."""
MIN_IDS, COMPARED_IDS = 3, 16
"""Fewest ids that show whether they are consecutive, and most that are compared: later ones are samples."""


_Counted = tuple[SharedCounter, InstanceCandidate]


def counts_over_connections(members: list[Connection]) -> bool:
    """Whether one counter numbers the requests of all these connections: the Java client, or ids with gaps.

    A first id above 1 alone proves nothing: kafkajs and librdkafka continue counting when they connect to a broker
    again.
    """
    software = {c.software_name for c in members} - {None}
    if software:
        return any(library_of_software(name).counts_over_connections for name in software)
    consecutive = [is_consecutive(c) for c in members if len(c.ids) >= MIN_IDS]
    return bool(consecutive) and 2 * sum(consecutive) < len(consecutive)


def is_consecutive(connection: Connection) -> bool:
    """Whether the first correlation ids of the connection are consecutive."""
    ids = [i for _, i in connection.ids[:COMPARED_IDS]]
    return sorted(ids) == list(range(min(ids), min(ids) + len(ids)))


def candidates_by_counter(members: list[Connection]) -> list[InstanceCandidate]:
    """The candidates of the connections, which are in order of time; each connection is in exactly one."""
    live: list[_Counted] = []
    ended: list[_Counted] = []
    for connection in members:
        ended += [c for c in live if c[1].has_ended(connection.begin_ns)]
        live = [c for c in live if not c[1].has_ended(connection.begin_ns)]
        match = _nearest(live, connection)
        if match is None:
            match = _nearest(ended[-LOOK_BACK:], connection)
            if match is None:
                match = (SharedCounter(), InstanceCandidate())
            else:
                ended.remove(match)
            live.append(match)
        match[0].add(connection)
        match[1].add(connection)
    candidates = sorted((candidate for _, candidate in ended + live), key=lambda d: d.begin_ns)
    for candidate in candidates:
        candidate.reasons.add("one counter of correlation ids over all its connections")
    return candidates


def _nearest(counted: list[_Counted], connection: Connection) -> _Counted | None:
    """The counter that fits the connection best; the oldest of equals."""
    fits = [
        (distance, i)
        for i, (counter, candidate) in enumerate(counted)
        if not _began_anew(candidate, connection) and (distance := counter.distance(connection)) is not None
    ]
    return counted[min(fits)[1]] if fits else None


def _began_anew(candidate: InstanceCandidate, connection: Connection) -> bool:
    """Whether all connections of the candidate had ended when this one began, and its ids restart."""
    ended = all(c.close_ns is not None and c.close_ns < connection.begin_ns for c in candidate.connections)
    return ended and bool(connection.ids) and connection.ids[0][1] <= 1
