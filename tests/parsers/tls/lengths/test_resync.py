"""Which response belongs to which request where packets are missing, or where one was counted too often."""

from tests.parsers.tls.lengths.conftest import client, server

from kafkascope_parsers.tls.lengths.exchanges import MISSED


def test_a_response_that_may_be_in_a_gap(talk):
    talk.send(client(40, 0), client(40, 10))
    talk.send(server(70, 20), gap=100)
    talk.send(client(44, 30), server(71, 40))
    fates = [row[-1] for row in talk.exchanges()]
    assert fates == [MISSED, MISSED, 0]


def test_requests_before_a_gap_of_the_client_are_answered(talk):
    talk.send(client(40, 0), server(70, 5), client(41, 10), client(42, 20))
    talk.send(client(43, 30), gap=100)
    talk.send(server(70, 40), server(70, 50))
    assert [row[:2] for row in talk.exchanges()[:3]] == [(1, 2), (3, 6), (4, 7)]


def test_a_response_that_the_client_went_on_after_was_whole_before_a_gap(talk):
    talk.send(client(40, 0), server(70, 5), client(41, 10))
    talk.send(server(70, 20), gap=100)
    talk.send(client(44, 30), server(71, 40))
    assert [(row[:2], row[-1]) for row in talk.exchanges()] == [((1, 2), 0), ((3, 0), MISSED), ((5, 6), 0)]


def _one_response_too_few(talk, pauses, waits):
    """Two pipelined requests with one record in response, and then one request after the other. Returns the packets of
    these requests and of their responses."""
    talk.send(client(200, 0), server(70, 5), client(200, 10), client(200, 11), server(70, 20))
    at, sent = 20, []
    for pause, wait in zip(pauses, waits, strict=True):
        talk.send(client(200, at + pause), server(70, at + pause + wait))
        at += pause + wait
        sent.append((talk.packet - 1, talk.packet))
    return sent


def test_who_is_out_of_step_gets_into_it_where_each_response_follows_a_request_at_once(talk):
    sent = _one_response_too_few(talk, [100, 300, 150, 90, 400, 120], [4] * 6)
    found = talk.exchanges()
    assert [row[:2] for row in found[-3:]] == sent[-3:]
    assert MISSED in {row[-1] for row in found}


def test_a_steady_pace_on_a_slow_path_is_no_proof_of_being_out_of_step(talk):
    """Each request of a steady producer is answered after a steady 104 ms, when the next one has been sent."""
    sent = _one_response_too_few(talk, [100] * 20, [4] * 20)
    requests, responses = zip(*sent, strict=True)
    assert [row[:2] for row in talk.exchanges()[3:-1]] == list(zip(requests[:-1], responses[1:], strict=True))


def test_responses_at_any_time_after_requests_are_no_proof_of_being_out_of_step(talk):
    sent = _one_response_too_few(talk, [100, 300, 150, 90, 400, 120], [50, 4, 60, 4, 4, 90])
    requests, responses = zip(*sent, strict=True)
    assert [row[:2] for row in talk.exchanges()[3:-1]] == list(zip(requests[:-1], responses[1:], strict=True))
