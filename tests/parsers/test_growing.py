"""Growing arrays: what was added is there, in its order, and can be written to."""

import pickle

import numpy as np

from kafkascope_parsers.growing import Growing


def test_rows_stay_in_order_however_they_were_added():
    rows = Growing(np.int64)
    for n in (0, 1, 5, 0, 100, 3):
        rows.add(np.arange(len(rows), len(rows) + n))
    assert rows.rows.tolist() == list(range(109))


def test_what_is_written_into_the_rows_is_kept_when_they_move():
    rows = Growing(np.dtype([("a", np.int32)]))
    rows.add(np.zeros(2, [("a", np.int32)]))
    rows.rows["a"][1] = 7
    rows.add(np.zeros(1000, [("a", np.int32)]))
    assert rows.rows["a"][:3].tolist() == [0, 7, 0]
    assert len(rows) == 1002


def test_a_saved_state_has_the_rows_alone_and_not_what_was_in_memory_before() -> None:
    rows = Growing(np.int64)
    rows.add(np.arange(100))
    rows.add(np.arange(1))
    rows._room[len(rows) :] = 0x5EC12E7  # as memory that held something else
    saved = pickle.dumps(rows)
    assert (0x5EC12E7).to_bytes(8, "little") not in saved
    loaded = pickle.loads(saved)
    loaded.add(np.array([7]))
    assert loaded.rows.tolist() == [*range(100), 0, 7]
