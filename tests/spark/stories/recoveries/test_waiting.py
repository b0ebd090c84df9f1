"""What a client waits for on a connection, from requests written by hand."""

from collections.abc import Callable

from kafkascope_analyzer.dataset.tables.event_kinds.requests import PartitionAccess, Request
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.recoveries.waiting import MAX_PARTITIONS, MAX_REQUESTS, WaitingRequests

MakeRequest = Callable[..., Request]


def access(request: Request, partition: int) -> PartitionAccess:
    return PartitionAccess(
        request.request_id,
        request.api_key,
        False,
        "t",
        partition,
        None,
        False,
        True,
        conn_id=request.conn_id,
        ts_ns=request.ts_ns,
    )


def test_what_a_connection_owes_is_taken_once(request_row: MakeRequest) -> None:
    waiting = WaitingRequests()
    first, second = request_row(api_keys.PRODUCE, 1), request_row(api_keys.FETCH, 2, conn_id="c2")
    for request in (first, second):
        waiting.add_request(request)
        waiting.add_partition(access(request, 0))
    assert [(conn_id, owed.requests) for conn_id, owed in waiting.of_connections()] == [
        ("c1", [first]),
        ("c2", [second]),
    ]
    taken = waiting.take("c1")
    assert (taken.requests, [one.request_id for one in taken.partitions]) == ([first], [first.request_id])
    assert waiting.take("c1").requests == []
    assert waiting
    waiting.take("c2")
    assert not waiting


def test_the_part_of_some_requests_has_their_topic_partitions(request_row: MakeRequest) -> None:
    waiting = WaitingRequests()
    requests = [request_row(api_keys.PRODUCE, at) for at in (1, 2, 3)]
    for number, request in enumerate(requests):
        waiting.add_request(request)
        waiting.add_partition(access(request, number))
    part = waiting.take("c1").only(requests[1:2])
    assert (part.requests, [one.partition for one in part.partitions]) == (requests[1:2], [1])


def test_each_coordinator_is_named_with_the_first_request_to_it(request_row: MakeRequest) -> None:
    """To look for a coordinator is no request to it."""
    waiting = WaitingRequests()
    asked = [
        request_row(api_keys.FIND_COORDINATOR, 1, group_id="a", coordinator_key="a"),
        request_row(api_keys.HEARTBEAT, 2, group_id="a"),
        request_row(api_keys.OFFSET_COMMIT, 3, group_id="a"),
        request_row(api_keys.END_TXN, 4, transactional_id="tx"),
        request_row(api_keys.FETCH, 5),
    ]
    for request in asked:
        waiting.add_request(request)
    found = waiting.take("c1").coordinators()
    assert found == [(("coordinator", "a"), asked[1]), (("coordinator", "tx"), asked[3])]


def test_the_oldest_are_kept(request_row: MakeRequest) -> None:
    waiting = WaitingRequests()
    for at in range(MAX_REQUESTS + 5):
        waiting.add_request(request_row(api_keys.FETCH, at))
    one = request_row(api_keys.FETCH, 1)
    for number in range(MAX_PARTITIONS + 5):
        waiting.add_partition(access(one, number))
    taken = waiting.take("c1")
    assert (len(taken.requests), taken.requests[0].correlation_id) == (MAX_REQUESTS, 0)
    assert len(taken.partitions) == MAX_PARTITIONS
