"""Numbers of keys, against a dict."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.scan.places import NO_PLACE, Slots, TopicPartitions

KEYS = st.lists(st.one_of(st.integers(0, 9), st.integers(0, 1 << 62)), max_size=60)


@given(st.lists(KEYS, max_size=4))
def test_keys_are_numbered_as_they_come(batches):
    slots, known = Slots(), {}
    for keys in batches:
        expected = [known.setdefault(key, len(known)) for key in keys]
        assert slots.of(np.array(keys, np.int64)).tolist() == expected
        assert len(slots) == len(known)
        assert slots.keys.tolist() == list(known)


def test_there_is_room_for_many_keys():
    keys = np.arange(50_000, dtype=np.int64) << 20
    slots = Slots()
    assert slots.of(keys).tolist() == list(range(50_000))
    assert slots.of(keys[::-1].copy()).tolist() == list(range(50_000))[::-1]


def test_topics_are_told_apart_by_name_and_id():
    rows = pa.table(
        {
            "topic": pa.array(["a", None, "a", "b", "a"]).dictionary_encode(),
            "topic_id": pa.array([None, "x", "x", None, None]).dictionary_encode(),
            "partition": pa.array([0, 0, 0, -1, 0], pa.int32()),
        }
    )
    places = TopicPartitions()
    codes = places.of(rows)
    assert codes[0] == codes[4]
    assert len(set(codes[:3].tolist())) == 3
    assert codes[3] == NO_PLACE
    columns = places.columns(codes[:3])
    assert columns["topic"].to_pylist() == ["a", None, "a"]
    assert columns["topic_id"].to_pylist() == [None, "x", "x"]
    named = places.of_names(pa.array(["a", None]).dictionary_encode(), pa.chunked_array([pa.array([0, 0], pa.int32())]))
    assert named.tolist() == [codes[0], NO_PLACE]
