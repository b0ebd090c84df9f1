"""Metadata and assignments of classic groups, against bytes that Kafka's own classes wrote, and hostile bytes."""

import gzip
import json
import pathlib
import random
import struct
from typing import Any

import pytest

from kafkascope_parsers.assignments import Assigned, Wanted, read_assignment, read_metadata
from kafkascope_parsers.assignments.cursor import MAX_ITEMS
from kafkascope_parsers.errors import DecodeError

VECTORS = pathlib.Path(__file__).parents[3] / "fixtures" / "vectors"


def vectors(name: str) -> list[dict[str, Any]]:
    with gzip.open(VECTORS / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


WRITTEN = vectors("assignments.jsonl.gz")
LOOSE = [v for v in vectors("loose.jsonl.gz") if v["name"].startswith("ConsumerProtocol")]


def read(vector: dict[str, Any], raw: bytes) -> Assigned | Wanted | None:
    if vector["kind"] == "metadata":
        return read_metadata(vector["protocol_type"], raw)
    return read_assignment(vector["protocol_type"], raw, vector["assignor"])


def test_there_are_vectors_of_each_kind() -> None:
    kinds = {(v["kind"], v["protocol_type"], v["assignor"]) for v in WRITTEN}
    assert {a for kind, _, a in kinds if kind == "assignment"} == {
        "range",
        "stream",
        "default",
        "compatible",
        "sessioned",
    }
    assert sum(v["assignor"] == "stream" for v in WRITTEN) == 11
    assert {v["version"] for v in LOOSE} == {0, 1, 2, 3}


@pytest.mark.parametrize("vector", WRITTEN, ids=range(len(WRITTEN)))
def test_as_kafka_wrote_it(vector: dict[str, Any]) -> None:
    result = read(vector, bytes.fromhex(vector["hex"]))
    for name in ("topics", "owned", "items", "standby", "revoked"):
        if name in vector:
            assert sorted(getattr(result, name)) == sorted(vector[name]), name
    if isinstance(result, Assigned):
        assert result.is_change == (vector["assignor"] in ("compatible", "sessioned"))


@pytest.mark.parametrize("vector", LOOSE, ids=range(len(LOOSE)))
def test_messages_of_kafkas_definitions(vector: dict[str, Any]) -> None:
    """The definitions' own serializers, with random content: topics may be longer there than a topic can be."""
    raw = struct.pack(">h", vector["version"]) + bytes.fromhex(vector["hex"])
    body = vector["json"]
    owned = body.get("assignedPartitions", body.get("ownedPartitions", []))
    partitions = [f"{tp['topic']}-{p}" for tp in owned for p in tp["partitions"]]
    if any(len(topic.encode()) > 249 for topic in [*body.get("topics", []), *(tp["topic"] for tp in owned)]):
        return
    if vector["name"] == "ConsumerProtocolSubscription":
        wanted = read_metadata("consumer", raw)
        assert wanted == Wanted(tuple(body["topics"]), tuple(partitions))
    else:
        assert read_assignment("consumer", raw) == Assigned(tuple(partitions))


def test_a_newer_version_is_read_as_the_newest_known_and_the_rest_is_left_alone() -> None:
    for vector in WRITTEN:
        raw = bytearray.fromhex(vector["hex"])
        if vector["protocol_type"] == "consumer" and raw[:2] == b"\x00\x03":
            raw[:2] = struct.pack(">h", 9)
            assert read(vector, bytes(raw) + b"new fields") == read(vector, bytes.fromhex(vector["hex"]))


def test_what_is_not_known_is_not_read() -> None:
    assert read_metadata("sr", b"\x00\x01") is None
    assert read_assignment(None, b"") is None
    assert read_assignment("consumer", b"") == read_assignment("connect", b"") == Assigned()


def test_cut_bytes_are_refused_or_end_in_what_may_be_missing() -> None:
    """Any cut either raises DecodeError or, where optional fields are cut off whole, gives no more than the whole."""
    for vector in WRITTEN:
        raw = bytes.fromhex(vector["hex"])
        whole = read(vector, raw)
        refused = 0
        for n in range(len(raw)):
            try:
                result = read(vector, raw[:n])
            except DecodeError:
                refused += 1
                continue
            assert result == whole or not n or vector["protocol_type"] == "connect" or vector["assignor"] == "stream"
        assert refused > len(raw) // 3


def test_random_and_damaged_bytes_only_ever_raise_decode_error() -> None:
    rng = random.Random(7)
    for _ in range(3_000):
        vector = rng.choice(WRITTEN)
        raw = bytearray.fromhex(vector["hex"])
        for _ in range(rng.randrange(1, 6)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        for hostile in (bytes(raw), rng.randbytes(rng.randrange(60))):
            try:
                result = read(vector, hostile)
            except DecodeError:
                continue
            assert result is not None


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("negative version", struct.pack(">hi", -1, 0)),
        ("more topics than bytes", struct.pack(">hi", 0, 1 << 30)),
        ("negative count", struct.pack(">hi", 0, -2)),
        ("null where none may be", struct.pack(">hi", 0, -1)),
        ("a topic beyond its end", struct.pack(">hih", 0, 1, 100) + b"short"),
        ("a topic longer than topics are", struct.pack(">hih", 0, 1, 300) + b"x" * 300 + bytes(8)),
        ("a null topic", struct.pack(">hih", 0, 1, -1) + bytes(8)),
        ("user data beyond the end", struct.pack(">hii", 0, 0, 1000)),
    ],
)
def test_hostile_lengths(kind: str, raw: bytes) -> None:
    for reading in (read_metadata, read_assignment):
        with pytest.raises(DecodeError):
            reading("consumer", raw)


def test_what_a_few_bytes_may_expand_to_is_limited() -> None:
    """Four bytes a partition become a string each: more of them than a cluster has are refused."""
    partitions = MAX_ITEMS + 1
    raw = struct.pack(">hih", 0, 1, 1) + b"t" + struct.pack(">i", partitions) + bytes(4 * partitions + 4)
    with pytest.raises(DecodeError):
        read_assignment("consumer", raw)
