"""Fields of requests that are cut short, against the messages of Kafka's own classes cut at every byte."""

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kafkascope_parsers.machine import decode_leading
from kafkascope_parsers.schema import message_type

VECTORS = Path(__file__).parents[3] / "fixtures" / "vectors" / "frames.jsonl.gz"
PRODUCE = message_type(0, "request")
FETCH = message_type(1, "request")


def produce_requests() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt", encoding="utf-8", errors="surrogatepass") as lines:
        found = [json.loads(line) for line in lines]
    return [vector for vector in found if vector["api_key"] == 0 and vector["direction"] == "request"]


def acks_at_every_cut(raw: bytes, version: int) -> list[int | None]:
    """The acks in the first n bytes of a request (without the size), for each n, None where there are none; before and
    behind lie bytes of something else.
    """
    n = len(raw) + 1
    starts, ends, versions = np.full(n, 3), 3 + np.arange(n), np.full(n, version, np.int16)
    buf = np.full(len(raw) + 3, 0xAA, np.uint8)
    buf[3:] = np.frombuffer(raw, np.uint8)
    values, known = decode_leading(PRODUCE, PRODUCE.node("acks"), buf, starts, ends, versions)
    for cut in range(n):
        spoiled = buf.copy()
        spoiled[3 + cut :] = 0x55
        alone = decode_leading(PRODUCE, PRODUCE.node("acks"), spoiled, starts[:1], ends[cut : cut + 1], versions[:1])
        assert [part.tolist() for part in alone] == [[values[cut]], [known[cut]]], "a byte behind the frame was read"
    return [int(value) if there else None for value, there in zip(values, known, strict=True)]


@pytest.mark.parametrize("vector", produce_requests(), ids=lambda vector: f"v{vector['version']}-{vector['profile']}")
def test_a_cut_request_has_its_acks_from_their_last_byte_on(vector: dict[str, Any]) -> None:
    whole = bytes.fromhex(vector["frame_hex"])[4:]
    acks = vector["body_json"]["acks"]
    found = acks_at_every_cut(whole[:500], vector["version"])
    assert set(found) <= {None, acks}
    if acks in found:
        first = found.index(acks)
        assert int.from_bytes(whole[first - 2 : first], "big", signed=True) == acks
        assert set(found[:first]) == {None}
        assert set(found[first:]) == {acks}
    else:
        assert len(whole) > 500, "a whole request has no acks"


def test_every_layout_has_a_request_whose_acks_are_found() -> None:
    """Without a transactional id (to version 2), with one, and with tags and varints (from version 9)."""
    found = {
        vector["version"]
        for vector in produce_requests()
        if vector["body_json"]["acks"]
        in acks_at_every_cut(bytes.fromhex(vector["frame_hex"])[4:200], vector["version"])
    }
    assert found & {0, 1, 2}
    assert found & set(range(3, 9))
    assert found & set(range(9, 14))


@pytest.mark.parametrize("version", [14, -1])
def test_versions_that_are_not_known_are_not_read(version: int) -> None:
    raw = bytes.fromhex(produce_requests()[0]["frame_hex"])[4:104]
    assert set(acks_at_every_cut(raw, version)) == {None}


def test_frames_of_versions_with_and_without_the_field_lie_side_by_side() -> None:
    """Fetch has a session id from version 7 on; a frame of another version or a cut one does not move the others."""
    before = struct.pack(">ih1siiiib", 1, 1, b"a", -1, 500, 1, 1 << 20, 0)  # up to the isolation level
    session = struct.pack(">i", 77)
    heads = [struct.pack(">hh", 1, version) + before for version in (7, 3, 7, 7)]
    parts = [heads[0] + session, heads[1] + session, heads[2], heads[3] + session + b"rest that is cut"]
    ends = np.cumsum([len(part) for part in parts])
    starts = ends - [len(part) for part in parts]
    buf = np.frombuffer(bytearray(b"".join(parts)), np.uint8)
    versions = np.array([7, 3, 7, 7], np.int16)
    values, known = decode_leading(FETCH, FETCH.node("session_id"), buf, starts, ends, versions)
    assert (values[known].tolist(), known.tolist()) == ([77, 77], [True, False, False, True])


@pytest.mark.parametrize("path", ["transactional_id", "topic_data[].partition_data[].index", "topic_data"])
def test_only_fixed_width_fields_of_the_message_itself_can_be_asked_for(path: str) -> None:
    nothing = np.zeros(0, np.int64)
    with pytest.raises(ValueError, match="not a fixed-width field"):
        decode_leading(PRODUCE, PRODUCE.node(path), np.zeros(4, np.uint8), nothing, nothing, np.zeros(0, np.int16))
