"""Events of clients on captures of real clusters, against independent queries over the finished tables."""

from pathlib import Path

import pytest

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"
NAMES = ("healthy_basic", "leader_move", "named_brokers")


@pytest.fixture(scope="module", params=NAMES)
def dataset(request, ingested):
    return ingested(CAPTURES / f"{request.param}.pcap.zst")


@pytest.mark.parametrize("what", ["USAGE", "LOOP", "CLOSE", "ERROR"])
def test_events_are_what_the_tables_say(dataset, queries, what):
    expected, events = getattr(queries, what), getattr(queries, f"{what}_EVENTS")
    assert queries.differences(dataset, expected, events) == []


def test_requests_that_decide_a_story_are_events(dataset, queries):
    events = "select request.request_id from events where kind = 'request'"
    assert queries.differences(dataset, queries.DECIDING, events, more_allowed=True) == []


def test_what_follows_an_error_on_a_partition_is_an_event(dataset, queries):
    """All of it, counted over all connections of a client; events count on each connection, and have more."""
    assert queries.differences(dataset, queries.PARTITION, queries.PARTITION_EVENTS, more_allowed=True) == []
    tables = queries.connected(dataset)
    (needed,) = tables.sql(f"select count(*) from ({queries.PARTITION})").fetchall()[0]
    (kept,) = tables.sql("select count(*) from events where kind = 'partition'").fetchall()[0]
    assert kept <= 2 * needed + 10


def test_steady_requests_are_no_events(dataset, queries):
    """What is kept beyond what one client's order of requests needs is little: a success on each connection."""
    tables = queries.connected(dataset)
    (needed,) = tables.sql(f"select count(*) from ({queries.DECIDING})").fetchall()[0]
    (kept,) = tables.sql("select count(*) from events where kind = 'request'").fetchall()[0]
    (requests,) = tables.sql("select count(*) from requests").fetchall()[0]
    assert needed <= kept <= needed + 0.02 * requests


def test_every_event_has_a_place_of_its_own(dataset, queries):
    same = (
        "select 1 from events group by key_kind, key, section, ts_ns, rank, packet_no, conn_id, seq having count(*) > 1"
    )
    assert queries.connected(dataset).sql(same).fetchall() == []


def test_a_row_has_the_struct_of_its_kind_and_no_other(dataset, queries):
    tables = queries.connected(dataset)
    kinds = [kind for (kind,) in tables.sql("select distinct kind from events").fetchall()]
    assert {"connection", "usage", "samples", "learned", "loop", "request", "error_run"} <= set(kinds)
    for kind in kinds:
        wrong = tables.sql(f"select count(*) from events where (\"{kind}\" is null) = (kind = '{kind}')").fetchall()
        assert wrong == [(0,)], kind
