"""When packets prove that producers waited, from hand-made batches."""

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.resolve.flow.produce_facts import CANDIDATES
from kafkascope_analyzer.resolve.flow.proven_waits import proven_waits

S = 1_000_000_000
CLIENTS = np.array([0, 0, 1, -1])
"""Connections 0 and 1 are of one client, 2 of another on the same host; 3 sent no batch."""


def connections(syn=(None, None, None, None)):
    return pa.table(
        {
            "client_ip": ["10.0.0.1"] * 4,
            "syn_ns": pa.array([None if t is None else t * S for t in syn], pa.int64()),
            "last_ns": [60 * S] * 4,
        }
    )


def batch(conn, sent, answered, error=0):
    return {
        "conn": conn,
        "number": 0,
        "topic": "t",
        "partition": 0,
        "sent_ns": round(sent * S),
        "created_ms": 0,
        "answered_ns": None if answered is None else round(answered * S),
        "error_code": error,
    }


def is_proven(created, others, known=None):
    """Whether a batch that was created then, and sent on connection 0 at 20 s, waited."""
    rows = pa.Table.from_pylist([batch(0, 20, 20.002), *others], schema=CANDIDATES)
    proven = proven_waits(rows, connections() if known is None else known, CLIENTS)
    sent = rows["sent_ns"].to_numpy()
    return bool(proven.overlap(np.where(np.arange(len(sent)) == 0, created * S, sent), sent)[0])


def test_a_create_time_alone_proves_nothing():
    assert not is_proven(10, [])
    assert not is_proven(10, [batch(1, 15, 15.002)])


@pytest.mark.parametrize("other", [batch(0, 12, 12.1, error=6), batch(1, 12, 18), batch(1, 5, None), batch(1, 5, 11)])
def test_another_batch_of_the_client_that_was_refused_answered_late_or_not_at_all_proves_it(other):
    assert is_proven(10, [other])


@pytest.mark.parametrize("other", [batch(0, 8, 9.5), batch(0, 21, None), batch(2, 12, None)])
def test_what_waited_at_another_time_or_for_another_client_proves_nothing(other):
    assert not is_proven(10, [other])


@pytest.mark.parametrize(
    ("syn", "proven"),
    [
        ((15, None, None, None), True),
        ((None, None, None, 15), True),
        ((None, None, 15, None), False),
        ((5, None, None, 5), False),
    ],
)
def test_connecting_meanwhile_proves_it(syn, proven):
    assert is_proven(10, [], connections(syn)) is proven
