"""What events say about a connection, and what goes on to the incidents."""

from typing import Any, TypeVar

from kafkascope_analyzer.dataset.tables.event_kinds.connections import ConnectionEvent, Usage
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.connection_facts import (
    UNKNOWN_VERSION,
    connection_of,
    first_request,
    zookeeper_connection,
)

T = TypeVar("T")


def made(kind: type[T], **values: Any) -> T:
    """An object with these values; the others are null."""
    names: tuple[str, ...] = kind.__match_args__  # type: ignore[attr-defined]
    return kind(**dict.fromkeys(names) | values)


def usage(**values: Any) -> Usage:
    common = {
        "conn_id": "c1",
        "ts_ns": 5,
        "first_number": 3,
        "api_key": api_keys.FETCH,
        "api_version": 13,
        "status": "ok",
    }
    return made(Usage, **common | values)


def test_the_first_request_of_a_loop_is_one_that_went_well() -> None:
    request = first_request(usage(response_ns=9, n_records=2))
    assert request is not None
    assert (request.request_id, request.ts_ns, request.request_last_ns, request.response_ns) == ("c1-3", 5, 5, 9)
    assert request.ok
    assert first_request(usage(failed=True)) is None
    assert first_request(usage(api_key=api_keys.JOIN_GROUP)) is None
    unanswered = first_request(usage(status="unanswered", response_ns=9))
    assert unanswered is not None
    assert unanswered.response_ns is None


def test_a_connection_has_values_where_its_event_has_none() -> None:
    event = made(ConnectionEvent, conn_id="c1", server_ip="10.0.0.9", server_port=2181, zookeeper_session="0x1")
    connection = connection_of(event)
    assert (connection.server, connection.protocol, connection.close_kind) == ("10.0.0.9:2181", "empty", "open")
    assert (connection.n_requests, connection.tls, connection.advertised) == (0, False, None)
    session = zookeeper_connection("10.0.0.1", event)
    assert (session.client_ip, session.zookeeper_session, session.zookeeper_closed) == ("10.0.0.1", "0x1", False)


def test_of_an_encrypted_connection_the_first_request_of_each_kind_has_no_version_and_may_have_failed() -> None:
    request = first_request(usage(response_ns=9, api_version=None))
    assert request is not None
    assert (request.api_version, request.response_ns) == (UNKNOWN_VERSION, 9)
    assert first_request(usage(api_version=None, failed=True, status="unanswered")) is not None
