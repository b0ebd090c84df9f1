"""Acks of Produce requests that are cut, against the messages of Kafka's own classes cut at every byte."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kafkascope_analyzer.scan.cut_produce import UNKNOWN, acks_of_cut
from kafkascope_parsers.framing.layout import CUT_BY_END, FRAME, WHOLE

VECTORS = Path(__file__).parents[3] / "fixtures" / "vectors" / "frames.jsonl.gz"
PRODUCE = 0


def produce_requests() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt", encoding="utf-8", errors="surrogatepass") as lines:
        found = [json.loads(line) for line in lines]
    return [vector for vector in found if vector["api_key"] == PRODUCE and vector["direction"] == "request"]


def acks_at_every_cut(raw: bytes, version: int, client_id: str | None, **state: int) -> list[int]:
    """What is said of the first n bytes of a request, for each n; behind them lie bytes of something else."""
    frames = np.zeros(len(raw) + 1, FRAME)
    frames["start"], frames["end"] = 3, 3 + np.arange(len(raw) + 1)
    frames["api_key"], frames["api_version"], frames["wholeness"] = PRODUCE, version, CUT_BY_END
    frames["client_id_length"] = -1 if client_id is None else len(client_id.encode())
    for name, value in state.items():
        frames[name] = value
    buf = np.zeros(len(raw) + 3, np.uint8)
    buf[3:] = np.frombuffer(raw, np.uint8)
    spoiled = buf.copy()
    spoiled[:3] = 0xAA
    acks = acks_of_cut(spoiled, frames)
    for n in range(len(raw)):
        alone = buf[: 3 + n]
        assert acks_of_cut(alone, frames[n : n + 1]).tolist() == [acks[n]], "a byte behind the frame was read"
    return [int(value) for value in acks]


def is_plain(vector: dict[str, Any]) -> bool:
    """Whether acks can be known: a value that Kafka has, no tags in the header, no long transactional id."""
    body, header = vector["body_json"], vector["header_json"]
    tagged = any(name.startswith("_unknown") for name in header)
    return body["acks"] in (-1, 0, 1) and not tagged and len((body.get("transactionalId") or "").encode()) < 127


@pytest.mark.parametrize("vector", produce_requests(), ids=lambda vector: f"v{vector['version']}-{vector['profile']}")
def test_a_cut_request_tells_its_acks_or_nothing(vector: dict[str, Any]) -> None:
    raw, body = bytes.fromhex(vector["frame_hex"])[:400], vector["body_json"]
    said = acks_at_every_cut(raw, vector["version"], vector["header_json"]["clientId"])
    assert set(said) <= {UNKNOWN, body["acks"]}
    assert said[14] == UNKNOWN
    if is_plain(vector):
        first = said.index(body["acks"])
        assert int.from_bytes(raw[first - 2 : first], "big", signed=True) == body["acks"]
        assert set(said[:first]) == {UNKNOWN}
        assert set(said[first:]) == {body["acks"]}


def test_every_layout_has_a_request_whose_acks_are_told() -> None:
    """Without a transactional id (to version 2), with one, and with tags and varints (from version 9)."""
    plain = {vector["version"] for vector in produce_requests() if is_plain(vector)}
    assert plain & {0, 1, 2}
    assert plain & set(range(3, 9))
    assert plain & set(range(9, 14))


@pytest.mark.parametrize("state", [{"wholeness": WHOLE}, {"api_key": 1}, {"api_version": 14}, {"api_version": -1}])
def test_others_are_not_looked_at(state: dict[str, int]) -> None:
    vector = next(vector for vector in produce_requests() if is_plain(vector))
    raw = bytes.fromhex(vector["frame_hex"])[:100]
    said = acks_at_every_cut(raw, vector["version"], vector["header_json"]["clientId"], **state)
    assert set(said) == {UNKNOWN}
