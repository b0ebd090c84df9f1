"""Class 6. Start inside a frame, between frames; one direction only; response before its request; a hole; two frames
in one segment; a header split 1+3; 8-byte header apart from its body.
"""

import struct

import pytest


def test_start_inside_a_frame(w, read):
    c = w.Conversation(syn=False).from_client(w.metadata(1, b"x" * 90)[40:]).from_server(w.metadata_answer(1))
    c.from_client(w.metadata(2)).from_server(w.metadata_answer(2)).from_client(w.metadata(3)).from_server(
        w.metadata_answer(3)
    )
    found = read(c)
    assert found.requests == {1: "orphan_response", 2: "ok", 3: "ok"}
    assert found.reasons["mid_stream_start"] == len(w.metadata(1, b"x" * 90)) - 40


def test_start_between_frames(w, read):
    c = (
        w.Conversation(syn=False)
        .from_server(w.metadata_answer(1))
        .from_client(w.metadata(2))
        .from_server(w.metadata_answer(2))
    )
    assert read(c).requests == {1: "orphan_response", 2: "ok"}


def test_requests_only(w, read):
    found = read(w.Conversation(syn=False).from_client(w.metadata(1)).from_client(w.metadata(2)))
    assert found.requests == {1: "unanswered", 2: "unanswered"}


def test_responses_only(w, read):
    c = w.Conversation(syn=False)
    for i in range(1, 6):
        c.from_server(w.metadata_answer(i, partitions=(1, 1, 1)))
    found = read(c)
    rows = found.table("requests")
    assert found.protocols == ["kafka"]
    assert found.requests == dict.fromkeys(range(1, 6), "orphan_response")
    assert {row["server_port"] for row in rows} == {9092}
    assert [row["response_packet_no"] for row in sorted(rows, key=lambda row: row["correlation_id"])] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("first", [6, 15])  # as versions: ones that are known, ones that are soon to come
def test_answers_to_produce_are_no_requests(w, read, first):
    """They begin like one: API key 0 and a version (the correlation id), then a client id (the topic)."""
    partition = struct.pack(">ihqqq", 0, 0, 7, -1, 0)
    body = struct.pack(">i", 1) + w.string(b"orders") + struct.pack(">i", 1) + partition + struct.pack(">i", 0)
    c = w.Conversation(syn=False)
    for i in range(first, first + 6):
        c.from_server(w.response(i - 1, body)).from_client(w.produce(i, 7, 1))
    found = read(c)
    assert {row["server_port"] for row in found.table("connections")} == {9092}
    assert found.requests == {first - 1: "orphan_response", first + 5: "unanswered"} | dict.fromkeys(
        range(first, first + 5), "ok"
    )


def test_a_hole_between_whole_frames(w, read):
    lost = w.metadata(2)
    c = (
        w.Conversation()
        .from_client(w.metadata(1))
        .lose(0, len(lost))
        .from_client(w.metadata(3))
        .from_server(*map(w.metadata_answer, (1, 2, 3)))
    )
    found = read(c)
    assert found.requests[1] == found.requests[3] == "ok"
    assert found.ledger["missing_bytes"] == len(lost)


def test_a_hole_inside_a_frame(w, read):
    cut = w.metadata(2, b"x" * 200)
    c = (
        w.Conversation()
        .from_client(w.metadata(1))
        .from_client(cut[:60])
        .lose(0, 100)
        .from_client(cut[160:] + w.metadata(3))
    )
    c.from_server(*map(w.metadata_answer, (1, 2, 3)))
    assert read(c).requests == {1: "ok", 2: "undecoded", 3: "ok"}


def test_frames_cut_into_segments_anywhere(w, read):
    """A connection for each way to cut."""
    talks = []
    for n, (first, second) in enumerate(((1, 3), (4, 4), (8, 0), (1, 1))):
        talks.append(c := w.Conversation(client_port=41000 + n))
        for i in range(10 * n, 10 * n + 3):
            for raw, send in ((w.metadata(i), c.from_client), (w.metadata_answer(i), c.from_server)):
                for piece in (raw[:first], raw[first : first + second], raw[first + second :]):
                    if piece:
                        send(piece)
    assert read(*talks).requests == {10 * n + i: "ok" for n in range(4) for i in range(3)}


def test_two_frames_in_one_segment(w, read):
    c = (
        w.Conversation()
        .from_client(w.metadata(1), w.metadata(2))
        .from_server(w.metadata_answer(1), w.metadata_answer(2))
    )
    assert read(c).requests == {1: "ok", 2: "ok"}


def captured_frames(w):
    """A Produce whose record value holds captured Kafka requests, far enough to span packets."""
    value = bytes(3000) + b"".join(w.metadata(n, b"inner") for n in range(500, 520)) + bytes(4000)
    return w.produce(7, 7, 1, value)


@pytest.mark.parametrize("start", [100, 1448, 2000])
def test_a_start_inside_records_that_hold_kafka_requests(w, read, start):
    c = w.Conversation(syn=False).from_client(captured_frames(w)[start:]).from_server(w.response(7, bytes(20)))
    c.from_client(w.metadata(8)).from_server(w.metadata_answer(8)).from_client(w.metadata(9)).from_server(
        w.metadata_answer(9)
    )
    found = read(c)
    assert {k for k, status in found.requests.items() if status != "orphan_response"} == {8, 9}


@pytest.mark.parametrize("lost", [300, 1448, 2000])
def test_a_hole_before_records_that_hold_kafka_requests(w, read, lost):
    c = w.Conversation().from_client(w.metadata(1)).lose(0, lost).from_client(captured_frames(w)[lost:])
    c.from_client(w.metadata(8)).from_client(w.metadata(9))
    assert set(read(c).requests) == {1, 8, 9}


def test_a_hole_before_small_numbers_that_read_as_a_response(w, read):
    """Bodies are full of `00 00 00 05 00 00 00 03`: no size and correlation id."""
    c = w.Conversation().from_client(*(w.metadata(n) for n in range(1, 8)))
    answer = w.metadata_answer(1, partitions=tuple(range(300)))
    c.lose(1, 1000).from_server(answer[1000:]).from_server(*(w.metadata_answer(n) for n in range(2, 8)))
    found = read(c)
    assert found.requests == {1: "not_captured"} | dict.fromkeys(range(2, 8), "ok")
