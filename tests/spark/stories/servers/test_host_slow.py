"""When a host looks slow to a server, from events by hand."""

from dataclasses import fields, replace

from kafkascope_analyzer.dataset.tables.event_kinds.servers import SlowHost
from kafkascope_spark.stories.servers.host_slow import host_slow_stretches
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.record import ServerRecord
from kafkascope_spark.stories.servers.stretch import Stretch

S = 1_000_000_000


def slow(host: str, first_s: int, last_s: int) -> SlowHost:
    times = {"slice_ms": 2000, "first_ns": first_s * S, "last_ns": last_s * S}
    known = {"host": host, "n_clients": 2, "times_usual": 7} | times
    return SlowHost(**{field.name: known.get(field.name) for field in fields(SlowHost)})


def test_a_slow_host_is_a_stretch_unless_something_else_explains_it() -> None:
    """Host b did not reach the server at that time."""
    record = ServerRecord((0, 60 * S), slow_hosts=[slow("a", 10, 25), slow("b", 10, 25)])
    silent = Stretch("b", "silent", Moment(20 * S, 0), Moment(30 * S, 0), True, 1, [])
    (found,) = host_slow_stretches(record, [silent])
    assert (found.host, found.state, found.n_waiting, found.times_usual) == ("a", "host_slow", 2, 7)
    assert (found.begin.ts_ns, found.last_shown_ns, found.end and found.end.ts_ns) == (10 * S, 23 * S, 25 * S)


def test_the_times_are_as_exact_as_the_slices_that_were_compared() -> None:
    """Captures that are long, or have many clients, have longer slices."""
    record = ServerRecord((0, 60 * S), slow_hosts=[replace(slow("a", 10, 25), slice_ms=8_000)])
    (found,) = host_slow_stretches(record, [])
    assert (found.lead_ns, found.lag_ns, found.last_shown_ns) == (8 * S, 8 * S, 17 * S)
