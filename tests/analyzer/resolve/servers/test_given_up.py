"""Waits that nothing ended, by hand: how long after the last packet of a connection somebody may still wait."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.resolve.servers.given_up import with_given_up
from kafkascope_analyzer.resolve.servers.waits import DELIVERY, REQUEST, WINDOW, Waits
from kafkascope_parsers.tcp.spans import ENDED_BY, PACKETS, PAYLOAD

SECOND = 1_000_000_000
HOUR = 3_600
LAST_PACKET = 100


def ended(layer: int, ended_by: str, end_s: float, due_s: float = 0) -> tuple[str, float]:
    """How a wait ended, and when: it began after ten seconds, on a connection whose last packet came after 100."""
    columns = {name: np.zeros(1, np.int64) for name in Waits.__slots__}
    columns |= {"layer": np.array([layer]), "ended_by": np.array([ENDED_BY.index(ended_by)])}
    columns |= {"asked_ns": np.array([10 * SECOND]), "due_ns": np.array([int(due_s * SECOND)])}
    columns |= {"until_ns": np.array([0 if ended_by == "open" else LAST_PACKET * SECOND])}
    hosts = SimpleNamespace(connections=pa.table({"last_ns": [LAST_PACKET * SECOND]}))
    waits = with_given_up(Waits(**columns), hosts, int(end_s * SECOND))
    return ENDED_BY[waits.ended_by[0]], waits.until_ns[0] / SECOND


@pytest.mark.parametrize("layer", [PACKETS, DELIVERY, WINDOW])
def test_a_host_that_retransmits_no_more_has_given_up(layer: int) -> None:
    """Linux pauses for at most 120 seconds between two retransmissions."""
    assert ended(layer, "open", LAST_PACKET + 119) == ("open", 0)
    assert ended(layer, "open", LAST_PACKET + 121) == ("gave_up", LAST_PACKET + 120)
    assert ended(layer, "open", 24 * HOUR) == ("gave_up", LAST_PACKET + 120)


@pytest.mark.parametrize("layer", [PAYLOAD, REQUEST])
def test_an_application_may_wait_in_silence_until_its_kernel_probes_the_connection(layer: int) -> None:
    """The first keep-alive probe comes after two hours without a packet."""
    assert ended(layer, "open", LAST_PACKET + 2 * HOUR) == ("open", 0)
    assert ended(layer, "open", 24 * HOUR) == ("gave_up", LAST_PACKET + 2 * HOUR + 120)


def test_a_request_may_allow_the_server_more_time() -> None:
    assert ended(REQUEST, "open", 24 * HOUR, due_s=3 * HOUR) == ("gave_up", 5 * HOUR + 120)


def test_a_wait_that_ended_stays_as_it_is() -> None:
    assert ended(PACKETS, "ack", 24 * HOUR) == ("ack", LAST_PACKET)
