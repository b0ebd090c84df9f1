"""Handshakes as OpenSSL and the JVM wrote them, in any blocks, and spoilt.

The oracle of what they are is in tests/analyzer/ingest/test_tls_handshakes.py (tshark, and what the programs said)."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_parsers.tcp.streams import GAP_LOST, GAP_NONE, Streams
from kafkascope_parsers.tls import handshakes as module
from kafkascope_parsers.tls.handshakes import Handshakes


def block(packets, offsets, gaps=(0, 0), conn=0):
    """Streams of one connection of packets (side, bytes, number). offsets: of each side, moved on."""
    columns = {name: [] for name in ("direction", "start", "end", "stream_offset", "gap_before", "gap_kind")}
    data, places, numbers = b"", [], []
    for side in (0, 1):
        mine = [(raw, number) for of, raw, number in packets if of == side]
        if not mine:
            continue
        offsets[side] += gaps[side]
        values = (2 * conn + side, len(data), 0, offsets[side], gaps[side], GAP_LOST if gaps[side] else GAP_NONE)
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)
        for raw, number in mine:
            places.append(len(data))
            numbers.append(number)
            data += raw
            offsets[side] += len(raw)
        columns["end"][-1] = len(data)
    arrays = {name: np.array(values, np.int64) for name, values in columns.items()}
    kinds = arrays.pop("gap_kind").astype(np.uint8)
    return Streams(
        np.frombuffer(bytearray(data), np.uint8),
        **arrays,
        gap_kind=kinds,
        gap_after=np.zeros(len(kinds), np.uint8),
        piece_start=np.array(places, np.int64),
        piece_ts_ns=np.array(numbers, np.int64) * 1000,
        piece_packet=np.array(numbers, np.int64),
    )


def facts_of(packets, cuts=()):
    """What is found in packets (side, bytes), each in pieces of its own packet number, in the blocks that cuts make."""
    numbered = [(side, raw, number) for number, (side, raw) in enumerate(packets)]
    follower, offsets, found = Handshakes(), [0, 0], []
    follower.open_connections(1)
    places = sorted({0, *(cut % (len(numbered) + 1) for cut in cuts), len(numbered)})
    for begin, end in pairwise(places):
        found += follower.push(block(numbered[begin:end], offsets), final=False)
    found += follower.push(block([], offsets), final=True)
    assert follower._n_held == 0
    return [facts for _, facts in found]


VERSIONS = {"1.2": 0x0303, "1.3": 0x0304}


@pytest.fixture(scope="module", params=["1.2", "1.3"])
def packets(request, certificate, tmp_path_factory):
    import ssl

    from .conftest import Pair

    version = ssl.TLSVersion.TLSv1_2 if request.param == "1.2" else ssl.TLSVersion.TLSv1_3
    made = Pair(certificate, tmp_path_factory.mktemp("handshakes"), version)
    made.send(0, bytes(300))
    made.send(1, bytes(300))
    return request.param, made.packets


def test_what_openssl_agreed_on(packets):
    version, sent = packets
    (facts,) = facts_of(sent)
    assert facts.client.sni == "broker.example"
    assert facts.server.version_number == VERSIONS[version]
    assert facts.is_resumed is False
    assert facts.begun_ns == 0
    assert facts.answered_ns == 1000
    assert facts.ended_ns in (2000, 3000)
    assert (facts.server_certificates is None) == (version == "1.3")


@settings(max_examples=60)
@given(data=st.data())
def test_blocks_and_packets_change_nothing(packets, data):
    _, sent = packets
    whole = facts_of(sent)
    step = data.draw(st.integers(1, 400))
    cut = [(side, raw[at : at + step]) for side, raw in sent for at in range(0, len(raw), step)]
    (facts,) = facts_of(cut, data.draw(st.lists(st.integers(0, len(cut)), max_size=6)))
    for name in ("client", "server", "server_certificates", "client_certificates", "is_resumed", "group", "is_retried"):
        assert getattr(facts, name) == getattr(whole[0], name)


def test_a_hello_that_is_cut_shows_what_is_there(packets):
    _, sent = packets
    (facts,) = facts_of([(0, sent[0][1][:100])])
    assert facts.client.random
    assert not facts.client.is_whole
    assert facts.server is None


def test_spoilt_bytes_end(packets):
    _, sent = packets
    chance = random.Random(5)
    for _ in range(300):
        spoilt = []
        for side, raw in sent:
            text = bytearray(raw)
            for _ in range(chance.randrange(4)):
                text[chance.randrange(len(text))] = chance.randrange(256)
            spoilt.append((side, bytes(text[: chance.randrange(1, len(text) + 1)])))
        assert len(facts_of(spoilt, [chance.randrange(9) for _ in range(3)])) <= 1


def test_limits_are_kept_and_counted(packets, monkeypatch):
    _, sent = packets
    monkeypatch.setattr(module, "FOLLOWED_LIMIT", 3)
    follower = Handshakes()
    follower.open_connections(10)
    found = []
    for conn in range(10):
        found += follower.push(block([(0, sent[0][1], conn)], [0, 0], conn=conn), final=False)
    assert [number for number, _ in found] == list(range(7))
    assert follower.n_given_up == 7
    monkeypatch.setattr(module, "HELD_BYTES_LIMIT", 50)
    follower.open_connections(1)
    follower.push(block([(0, sent[0][1][:100], 11)], [0, 0], conn=10), final=False)
    assert follower.n_given_up == 11
