"""Names that were looked up in a start."""

from collections.abc import Callable
from typing import Any

from kafkascope_analyzer.dataset.tables.event_kinds.connections import Lookup
from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.startups.lifecycle import Startups
from kafkascope_spark.stories.startups.lookups import client_lookups

MS = 1_000_000
FOUND = Lookup("10.0.0.53", "kafka-1.example", -1 * MS, "NOERROR", ("10.0.0.1",), ts_ns=-3 * MS)
LATER = Lookup("10.0.0.53", "kafka-2.example", 32 * MS, "NOERROR", ("10.0.0.2",), ts_ns=30 * MS)
NOT_FOUND = Lookup("10.0.0.53", "kafka-3.example", 41 * MS, "NXDOMAIN", (), ts_ns=40 * MS)
CONSUMER = {"apis": {api_keys.METADATA, api_keys.FETCH}}


def test_a_name_belongs_to_the_client_whose_connection_followed(
    instance: Callable[..., Instance], connection: Callable[..., Connection]
) -> None:
    one, two = instance(connection("c1", 0)), instance(connection("c2", 33, server="10.0.0.2:9092"))
    two.instance_id = "ci-2"
    lookups = client_lookups([LATER, FOUND, NOT_FOUND], [one, two])
    assigned = [(a.lookup.name, a.instance_id, a.connection and a.connection.conn_id) for a in lookups]
    assert assigned == [("kafka-1.example", "ci-1", "c1"), ("kafka-2.example", "ci-2", "c2")]


def test_a_name_that_is_not_found_belongs_to_the_client_that_read_it_in_metadata(
    instance: Callable[..., Instance], connection: Callable[..., Connection]
) -> None:
    one, two = instance(connection("c1", 0)), instance(connection("c2", 0, named_servers={"KAFKA-3.example.:9092"}))
    two.instance_id = "ci-2"
    assert [a.instance_id for a in client_lookups([NOT_FOUND], [one, two])] == ["ci-2"]


def test_look_ups_are_steps_and_those_before_the_first_syn_add_nothing_to_the_total(
    instance: Callable[..., Instance], connection: Callable[..., Connection], request_row: Callable[..., Request]
) -> None:
    first, second = connection("c1", 0, 900, **CONSUMER), connection("c2", 33, 900, server="10.0.0.2:9092")
    mine = instance(first, second)
    startups = Startups(mine, (0, 60_000 * MS))
    startups.lookups += client_lookups([FOUND, LATER, NOT_FOUND], [mine])
    startups.on_open(first)
    startups.on_open(second)
    for sent in (request_row(api_keys.METADATA, 5, 20), request_row(api_keys.FETCH, 50, 60, conn_id="c2", n_records=1)):
        startups.on_request(sent)
        startups.on_answer(sent)
    rows: dict[str, list[Any]] = {}
    for row in startups.finish():
        rows.setdefault(row.TABLE.name, []).append(row)
    (start,) = rows["startups"]
    steps = [(s.step, s.subject, s.outcome, s.on_critical_path) for s in rows["startup_steps"]]
    assert [s for s in steps if s[0] == "dns"] == [
        ("dns", "kafka-1.example", "ok", False),
        ("dns", "kafka-2.example", "ok", True),
        ("dns", "kafka-3.example", "error", True),
    ]
    path = [s for s in rows["startup_steps"] if s.on_critical_path]
    assert sum(s.duration_us + s.wait_us for s in path) == start.total_us == 60_000
    assert all(s.wait_us >= 0 for s in path)
