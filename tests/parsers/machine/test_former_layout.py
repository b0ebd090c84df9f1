"""A version whose layout Kafka changed in place: ReadShareGroupStateSummary response v0 had no leader epoch before 4.1.
Both forms, as the releases write them, read as what they are."""

import json

import pytest

from kafkascope_parsers.machine import to_rows
from kafkascope_parsers.schema import api_keys, message_type

from .conftest import load
from .test_golden import in_kafkas_words, text, without_nulls
from .test_slow_twin import agree

MESSAGE = message_type(87, "response")


@pytest.fixture(scope="module")
def both_forms(frames):
    now = [v for v in frames if (v["api_key"], v["direction"], v["version"]) == (87, "response", 0)]
    return [*now, *load("former_layout.jsonl.gz")]


def test_both_forms_read_as_kafka_reads_them(both_forms, decode):
    raws = [bytes.fromhex(v["frame_hex"])[4:] for v in both_forms]
    (columns,) = decode(MESSAGE, raws, [0] * len(raws))
    assert not columns.failures
    assert columns.version_used.tolist() == [0] * len(raws)
    for row, v in zip(to_rows(columns), both_forms, strict=True):
        assert text(in_kafkas_words(MESSAGE.body, row["body"])) == text(without_nulls(v["body_json"]))
    sources = {v["source"] for v in both_forms}
    assert sources == {"kafka-clients 4.3.1", "kafka-clients 3.9.1"}
    assert any("leaderEpoch" in json.dumps(v["body_json"]) for v in both_forms)


def test_the_slow_twin_reads_the_same(both_forms):
    raws = [bytes.fromhex(v["frame_hex"])[4:] for v in both_forms]
    raws += [raw[:n] for raw in raws for n in range(0, len(raw), 7)]
    agree(MESSAGE, raws, [0] * len(raws))


def test_the_number_of_a_former_layout_is_no_version(both_forms, decode):
    raw = bytes.fromhex(both_forms[-1]["frame_hex"])[4:]
    number = MESSAGE.layout_number(0)
    assert number > MESSAGE.versions[1]
    (columns,) = decode(MESSAGE, [raw], [number])
    assert [f.kind for f in columns.failures] == ["unknown_version"]


def test_it_is_the_only_one():
    messages = [message_type(key, direction) for key in api_keys() for direction in ("request", "response")]
    assert [m.name for m in messages if m.former_layouts] == ["ReadShareGroupStateSummaryResponse"]
