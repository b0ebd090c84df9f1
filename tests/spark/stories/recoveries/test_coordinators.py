"""Which coordinators a client loses with a connection, and when that concerns it."""

from collections.abc import Callable

from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.recoveries.coordinators import MAX_COORDINATORS, Coordinators
from kafkascope_spark.stories.recoveries.journal import EpisodeStep

MakeRequest = Callable[..., Request]
MS = 1_000_000
FAILED = EpisodeStep("error", 100 * MS, "c1", 1, error_name="CONNECTION_CLOSED")


def test_a_member_has_lost_its_coordinator_when_the_connection_failed(request_row: MakeRequest) -> None:
    coordinators = Coordinators()
    coordinators.on_answer(request_row(api_keys.HEARTBEAT, 10, 11, group_id="g", member_id="m"))
    coordinators.on_failure(FAILED)
    (lost,) = coordinators.looked_for(request_row(api_keys.FIND_COORDINATOR, 500, 501, coordinator_key="g"))
    assert lost.resource == ("coordinator", "g")
    assert lost.failure == FAILED
    assert coordinators.looked_for(request_row(api_keys.FIND_COORDINATOR, 600, 601, coordinator_key="g")) == []


def test_who_is_no_member_misses_the_coordinator_when_it_looks_for_it(request_row: MakeRequest) -> None:
    coordinators = Coordinators()
    coordinators.on_answer(request_row(api_keys.OFFSET_FETCH, 10, 11, group_id="g"))
    coordinators.on_failure(FAILED)
    (lost,) = coordinators.looked_for(request_row(api_keys.OFFSET_FETCH, 500, 501, group_id="g"))
    assert lost.failure.ts_ns == 500 * MS - 1


def test_a_coordinator_that_responds_elsewhere_is_not_lost(request_row: MakeRequest) -> None:
    coordinators = Coordinators()
    coordinators.on_answer(request_row(api_keys.HEARTBEAT, 10, 11, group_id="g", member_id="m"))
    coordinators.on_answer(request_row(api_keys.HEARTBEAT, 20, 21, conn_id="c2", group_id="g", member_id="m"))
    coordinators.on_failure(FAILED)
    assert coordinators.looked_for(request_row(api_keys.HEARTBEAT, 500, 501, group_id="g")) == []


def test_an_error_shows_no_coordinator(request_row: MakeRequest) -> None:
    coordinators = Coordinators()
    coordinators.on_answer(request_row(api_keys.HEARTBEAT, 10, 11, group_id="g", error_code=16))
    coordinators.on_failure(FAILED)
    assert coordinators.looked_for(request_row(api_keys.HEARTBEAT, 500, 501, group_id="g")) == []


def test_no_more_coordinators_are_remembered_than_there_may_be(request_row: MakeRequest) -> None:
    coordinators = Coordinators()
    for number in range(MAX_COORDINATORS + 1):
        coordinators.on_answer(request_row(api_keys.OFFSET_FETCH, 10, 11, group_id=f"g{number}"))
    coordinators.on_failure(FAILED)
    known, unknown = (f"g{number}" for number in (MAX_COORDINATORS - 1, MAX_COORDINATORS))
    assert len(coordinators.looked_for(request_row(api_keys.OFFSET_FETCH, 500, 501, group_id=known))) == 1
    assert coordinators.looked_for(request_row(api_keys.OFFSET_FETCH, 500, 501, group_id=unknown)) == []
