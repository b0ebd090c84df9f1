"""Which connections of one name belong to one object, for clients that number correlation ids over all their
connections: the Java client (NetworkClient.correlation). Two of its objects collide."""

from kafkascope_spark.identity.counter import SharedCounter
from kafkascope_spark.identity.draft import Draft
from kafkascope_spark.wire import Connection

JAVA = "apache-kafka-java"
LOOK_BACK = 64
"""Objects that are gone which a connection is compared with when it fits none that is there: the last ones."""
MIN_IDS, DENSE_IDS = 3, 16
"""Fewest ids that tell whether they are dense, and most that are looked at: later ones are samples."""


_Counted = tuple[SharedCounter, Draft]


def counts_over_connections(members: list[Connection]) -> bool:
    """Whether one counter numbers the requests of all these connections: the Java client, or ids that are not dense.

    A first id above 1 alone says nothing: kafkajs and librdkafka go on counting when they connect to a broker again.
    """
    software = {c.software_name for c in members} - {None}
    if software:
        return JAVA in software
    dense = [_is_dense(c) for c in members if len(c.ids) >= MIN_IDS]
    return bool(dense) and 2 * sum(dense) < len(dense)


def _is_dense(connection: Connection) -> bool:
    """Whether the first ids follow one another."""
    ids = [i for _, i in connection.ids[:DENSE_IDS]]
    return sorted(ids) == list(range(min(ids), min(ids) + len(ids)))


def objects_by_counter(members: list[Connection]) -> list[Draft]:
    """Objects of the connections, which are in time order; each connection is in exactly one."""
    live: list[_Counted] = []
    gone: list[_Counted] = []
    for connection in members:
        gone += [c for c in live if c[1].is_gone(connection.begin_ns)]
        live = [c for c in live if not c[1].is_gone(connection.begin_ns)]
        found = _nearest(live, connection)
        if found is None:
            found = _nearest(gone[-LOOK_BACK:], connection)
            if found is None:
                found = (SharedCounter(), Draft())
            else:
                gone.remove(found)
            live.append(found)
        found[0].add(connection)
        found[1].add(connection)
    drafts = sorted((draft for _, draft in gone + live), key=lambda d: d.birth_ns)
    for draft in drafts:
        draft.reasons.add("one counter of correlation ids over all its connections")
    return drafts


def _nearest(counted: list[_Counted], connection: Connection) -> _Counted | None:
    """The counter that fits the connection best; of equals the oldest."""
    fits = [
        (distance, i)
        for i, (counter, draft) in enumerate(counted)
        if not _began_anew(draft, connection) and (distance := counter.distance(connection)) is not None
    ]
    return counted[min(fits)[1]] if fits else None


def _began_anew(draft: Draft, connection: Connection) -> bool:
    """Whether the object was gone when the connection began, and its ids start anew."""
    gone = all(c.close_ns is not None and c.close_ns < connection.begin_ns for c in draft.connections)
    return gone and bool(connection.ids) and connection.ids[0][1] <= 1
