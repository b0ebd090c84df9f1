from collections.abc import Callable

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.recoveries.failures import failure_of_end, given_up, late_since

MS = 1_000_000


@pytest.mark.parametrize(
    ("changes", "goes_on", "error"),
    [
        ({"close_kind": "fin_client"}, True, None),
        ({"close_kind": "rst_client"}, True, None),
        ({"close_kind": "open", "close_ns": None}, True, None),
        ({"close_kind": "refused"}, False, "CONNECTION_REFUSED"),
        ({"close_kind": "unanswered"}, False, "CONNECTION_UNANSWERED"),
        ({"close_kind": "fin_server", "idle_ms": 5}, False, "CONNECTION_CLOSED"),
        ({"close_kind": "rst_server", "idle_ms": 5}, False, "CONNECTION_RESET"),
        ({"close_kind": "fin_server", "idle_ms": 600_000}, True, None),
        ({"close_kind": "fin_server", "idle_ms": 4_000, "near_idle_ms": 4_000}, True, None),
        ({"close_kind": "fin_server", "idle_ms": 600_000, "near_idle_ms": 40}, True, "CONNECTION_CLOSED"),
        ({"close_kind": "fin_server", "idle_ms": 600_000, "refused_after": 2}, True, "CONNECTION_CLOSED"),
    ],
)
def test_ends_without_anything_in_flight(
    connection: Callable[..., Connection], changes: dict[str, object], goes_on: bool, error: str | None
) -> None:
    assert failure_of_end(connection("c1", 0, 1_000, **changes), [], goes_on) == error


def test_a_server_that_closes_with_a_request_in_flight_failed_however_idle(
    connection: Callable[..., Connection], request_row: Callable[..., Request]
) -> None:
    closed = connection("c1", 0, 90_000, close_kind="fin_server", idle_ms=80_000)
    assert failure_of_end(closed, [request_row(api_keys.JOIN_GROUP, 10_000)], True) == "CONNECTION_CLOSED"


def test_only_an_overdue_answer_makes_the_clients_close_a_timeout(
    connection: Callable[..., Connection], request_row: Callable[..., Request]
) -> None:
    closed = connection("c1", 0, 40_000)
    late = request_row(api_keys.PRODUCE, 10_000)
    assert failure_of_end(closed, [late], True) == "REQUEST_UNANSWERED"
    assert failure_of_end(closed, [late], False) is None
    assert failure_of_end(closed, [request_row(api_keys.PRODUCE, 39_000)], True) is None
    assert failure_of_end(closed, [request_row(api_keys.METADATA, 37_000)], True) is None
    assert failure_of_end(closed, [request_row(api_keys.FETCH, 30_000, max_wait_ms=20_000)], True) is None
    assert failure_of_end(closed, [request_row(api_keys.JOIN_GROUP, 10_000)], True) is None


def test_who_closes_while_it_waits_for_produce_gave_up_however_short_its_timeout(
    connection: Callable[..., Connection], request_row: Callable[..., Request]
) -> None:
    closed = connection("c1", 0, 40_000)
    sent = [
        request_row(api_keys.PRODUCE, 37_000),
        request_row(api_keys.METADATA, 38_000),
        request_row(api_keys.PRODUCE, 39_900),
    ]
    assert failure_of_end(closed, sent, True) == "REQUEST_UNANSWERED"
    assert failure_of_end(closed, sent, False) is None
    assert given_up(sent, 40_000 * MS) == [sent[0], sent[2]]
    assert given_up(sent[1:], 40_000 * MS) == []


def test_an_answer_is_late_where_nothing_else_can_have_held_it_up(request_row: Callable[..., Request]) -> None:
    def since(api: int, sent: int, answered: int, **says: object) -> int | None:
        return late_since(request_row(api, sent, answered, **({"in_flight": 1} | says)))

    assert since(api_keys.HEARTBEAT, 10_000, 27_000) == 15_000 * MS
    assert since(api_keys.FETCH, 10_000, 27_000, max_wait_ms=500) == 15_500 * MS
    assert since(api_keys.FETCH, 10_000, 27_000, max_wait_ms=20_000) is None
    assert since(api_keys.HEARTBEAT, 10_000, 14_000) is None
    assert since(api_keys.HEARTBEAT, 10_000, 27_000, in_flight=2) is None
    assert since(api_keys.PRODUCE, 10_000, 27_000) is None
    assert since(api_keys.JOIN_GROUP, 10_000, 27_000) is None
