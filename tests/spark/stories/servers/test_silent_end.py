"""When silence is over: handshakes may pass, and no data. Times are seconds."""

import pytest

from kafkascope_spark.stories.servers.stretch import earlier_attempt_ns

from .conftest import S, Trace

HOST = "10.0.0.21"


def silent(trace: Trace) -> list[tuple[float, float | None]]:
    return [(row[2], row[3]) for row in trace.states() if row[1] == "silent"]


def cut(trace: Trace, *signs: tuple[float, float]) -> None:
    """The server sends nothing to the host from 10 s on; a connection sends data again and again until 22 s."""
    trace.host(HOST)
    trace.signs((0.1, 10), *signs, host=HOST, layer="packet")
    trace.payload((0.1, 59))
    trace.wait(HOST, 10.1, 22, last=20.0, conn="old")


def test_a_handshake_does_not_end_it_while_data_is_not_acknowledged(trace: Trace) -> None:
    cut(trace, (14, 14), (22, 59))
    trace.signs((0.1, 10), (22, 59), host=HOST, layer="payload")
    assert silent(trace) == [(10, 22)]


def test_a_response_alone_does_not_end_it_either(trace: Trace) -> None:
    cut(trace, (14, 14), (22, 59))
    trace.signs((0.1, 10), (14, 14), (22, 59), host=HOST, layer="payload")
    assert silent(trace) == [(10, 22)]


@pytest.mark.parametrize("runs", [[(14, 59)], [(14, 14), (17, 17), (20, 59)]])
def test_where_the_server_goes_on_responding_the_fault_is_that_of_one_connection(
    trace: Trace, runs: list[tuple[float, float]]
) -> None:
    cut(trace, *runs)
    trace.signs((0.1, 10), *runs, host=HOST, layer="payload")
    assert silent(trace) == []


@pytest.mark.parametrize("first", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("n", range(2, 7))
def test_the_last_attempt_but_one_came_at_the_time_that_is_told_or_later(first: float, n: int) -> None:
    """Attempts of TCP, each after twice the pause of the one before."""
    at = [int(first * S * (2**k - 1)) for k in range(n + 1)]
    assert at[0] <= earlier_attempt_ns(at[0], at[-1]) <= at[-2]
