"""When the connections of a host to a server look lost, from events by hand."""

from dataclasses import fields

from kafkascope_analyzer.dataset.tables.event_kinds.servers import LostFlows
from kafkascope_spark.stories.servers.flows_lost import flows_lost_stretches
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.record import ServerRecord
from kafkascope_spark.stories.servers.stretch import Stretch

S = 1_000_000_000


def lost(host: str) -> LostFlows:
    known = {"host": host, "n_connections": 2, "n_reset": 1, "before_ns": 9 * S, "first_ns": 10 * S, "last_ns": 11 * S}
    return LostFlows(**{field.name: known.get(field.name) for field in fields(LostFlows)})


def test_lost_connections_are_a_stretch_unless_something_else_explains_them() -> None:
    """Host b did not reach the server at that time."""
    record = ServerRecord((0, 60 * S), lost_flows=[lost("a"), lost("b")])
    silent = Stretch("b", "silent", Moment(5 * S, 0), Moment(11 * S, 0), True, 1, [])
    (found,) = flows_lost_stretches(record, [silent])
    assert (found.host, found.state, found.n_waiting, found.lead_ns) == ("a", "flows_lost", 2, S)
    assert (found.begin.ts_ns, found.end and found.end.ts_ns) == (10 * S, 11 * S)
