"""Which records are one request or one response, by short conversations as clients and brokers have them.

That real ones are read right is shown by captures with keys (tests/analyzer/ingest/test_tls_lengths.py)."""

from tests.parsers.tls.lengths.conftest import client, server

from kafkascope_parsers.tls.lengths.exchanges import GIVEN_UP, OPEN
from kafkascope_parsers.tls.lengths.grouping import MOST_OPEN


def test_one_after_the_other(talk):
    talk.send(client(40, 0), server(70, 10), client(41, 20), server(70, 25))
    assert talk.exchanges() == [(1, 2, 40, 70, 0), (3, 4, 41, 70, 0)]


def test_a_response_of_several_records(talk):
    talk.send(client(90, 0), server(80, 10), server(500, 10.1), server(3, 30), client(90, 31), server(80, 40))
    assert talk.exchanges() == [(1, 2, 90, 583, 0), (5, 6, 90, 80, 0)]


def test_a_first_request_of_several_records_is_known_by_its_end(talk):
    talk.send(client(56, 0), client(180, 0.1), client(3, 0.2), server(70, 10))
    talk.send(client(56, 20), client(250, 20.1), client(3, 20.2), client(56, 20.5), client(99, 20.6), client(3, 20.7))
    talk.send(server(70, 30), server(70, 40))
    assert talk.exchanges() == [(1, 4, 239, 70, 0), (5, 11, 309, 70, 0), (8, 12, 158, 70, 0)]


def test_a_produce_request_of_two_partitions(talk):
    """As librdkafka writes it: header, records, the second partition, its records, the end."""
    talk.send(client(59, 0), server(392, 5), *(client(n, 10) for n in (220, 80, 14, 80, 4)), server(66, 11))
    assert talk.exchanges() == [(1, 2, 59, 392, 0), (3, 8, 398, 66, 0)]


def test_pipelined_requests(talk):
    talk.send(client(200, 0), server(70, 5))
    talk.send(client(200, 10), client(200, 10.1), client(200, 30), server(70, 40), server(70, 50), server(70, 60))
    assert [row[:2] for row in talk.exchanges()] == [(1, 2), (3, 6), (4, 7), (5, 8)]


def test_pipelined_requests_in_one_record(talk):
    """What waits for the socket of kafkajs is one record."""
    talk.send(client(200, 0), server(70, 5), client(200, 10), client(200, 20), client(600, 30), client(210, 31))
    talk.send(*(server(70, 40 + 10 * n) for n in range(6)))
    assert [row[:3] for row in talk.exchanges()] == [
        (1, 2, 200), (3, 7, 200), (4, 8, 200), (5, 9, 200), (5, 10, 200), (5, 11, 200), (6, 12, 210),
    ]  # fmt: skip


def test_where_sizes_vary_a_request_that_is_twice_as_large_as_the_one_before_is_one(talk):
    talk.send(client(200, 0), server(70, 5), client(330, 10), client(270, 20), client(540, 30))
    talk.send(*(server(70, 40 + 10 * n) for n in range(3)))
    assert [row[:3] for row in talk.exchanges()] == [(1, 2, 200), (3, 6, 330), (4, 7, 270), (5, 8, 540)]


def test_a_request_that_is_twice_as_large_is_one_where_the_client_waits_for_responses(talk):
    talk.send(client(200, 0), server(70, 5), client(400, 10), server(70, 15), client(200, 20), server(70, 25))
    assert [row[:3] for row in talk.exchanges()] == [(1, 2, 200), (3, 4, 400), (5, 6, 200)]


def test_a_response_to_a_heartbeat_does_not_go_on_with_the_response_before(talk):
    talk.send(client(90, 0), server(77, 5), server(500, 5.1), client(225, 10), client(96, 10.1))
    talk.send(server(77, 20), server(16, 20.8), client(96, 30), server(16, 40))
    assert [row[:4] for row in talk.exchanges()] == [
        (1, 2, 90, 577),
        (4, 6, 225, 77),
        (5, 7, 96, 16),
        (8, 9, 96, 16),
    ]


def test_full_records_go_on(talk):
    talk.send(client(16_384, 0), client(16_384, 300), client(900, 600), server(70, 700))
    assert talk.exchanges() == [(1, 4, 33_668, 70, 0)]


def test_an_alert_that_closes_is_no_message(talk):
    talk.send(client(40, 0), server(70, 5), client(2, 10), server(2, 11), client(7, 12, kind=21))
    assert talk.exchanges() == [(1, 2, 40, 70, 0)]


def test_a_request_without_a_response(talk):
    talk.send(client(40, 0), server(70, 5), client(40, 10))
    assert talk.exchanges() == [(1, 2, 40, 70, 0), (3, 0, 40, 0, OPEN)]


def test_a_producer_that_wants_no_responses(talk):
    """What it sent is given up, and the response to its next request for metadata belongs to that."""
    n = MOST_OPEN + 10
    talk.send(*(client(200, 10 * ms) for ms in range(n)), server(300, 10 * n))
    found = talk.exchanges()
    assert {row[-1] for row in found[:MOST_OPEN]} == {GIVEN_UP}
    assert found[-1][:2] == (n, n + 1) or found[MOST_OPEN][1] == n + 1


def test_two_produce_requests_of_librdkafka_in_succession(talk):
    """Its requests of several records end with four bytes; the next one has as large a header, or comes later."""
    talk.send(client(68, 0), server(724, 5))
    talk.send(*(client(n, 10) for n in (242, 100, 4, 243, 100, 4)), client(235, 140))
    talk.send(*(server(72, 200 + 10 * n) for n in range(3)))
    assert talk.exchanges()[1:] == [(3, 10, 346, 72, 0), (6, 11, 347, 72, 0), (9, 12, 235, 72, 0)]
