"""Sessions of OpenSSL, decrypted: every kind of suite, in any blocks, cut, with packets lost, and damaged."""

import pickle
import ssl

import pytest

from kafkascope_parsers.tls import KeyLog, connection, direction, streams
from kafkascope_parsers.tls.certificates import read_certificate
from kafkascope_parsers.tls.connection import NO_HANDSHAKE, NO_SECRET

from .conftest import NO_ENCRYPT_THEN_MAC

TLS_12, TLS_13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
SUITES_12 = {
    "gcm-128": ("ECDHE-RSA-AES128-GCM-SHA256", 0),
    "gcm-256": ("AES256-GCM-SHA384", 0),
    "chacha": ("ECDHE-RSA-CHACHA20-POLY1305", 0),
    "cbc-sha-etm": ("ECDHE-RSA-AES128-SHA", 0),
    "cbc-sha": ("ECDHE-RSA-AES256-SHA", NO_ENCRYPT_THEN_MAC),
    "cbc-sha256-etm": ("ECDHE-RSA-AES128-SHA256", 0),
    "cbc-sha256": ("AES128-SHA256", NO_ENCRYPT_THEN_MAC),
    "cbc-sha384": ("ECDHE-RSA-AES256-SHA384", NO_ENCRYPT_THEN_MAC),
}
SUITES = [(TLS_12, *suite) for suite in SUITES_12.values()] + [(TLS_13, None, 0)]
NAMES = [*SUITES_12, "tls13"]


def talk(made, n=12):
    """Both sides say n things of up to 40 kB."""
    for i in range(n):
        made.send(0, b"question %d " % i + bytes([i]) * (i * 37))
        made.send(1, b"answer %d " % i + bytes([255 - i]) * (i * i * 300))
    return made


def packets(made, size=1400):
    """What was written, in packets."""
    return [(side, text[i : i + size]) for side, text in made.packets for i in range(0, len(text), size)]


@pytest.fixture(params=SUITES, ids=NAMES)
def session(request, pair):
    version, ciphers, options = request.param
    return talk(pair(version, ciphers, options=options))


@pytest.mark.parametrize("per_block", [1, 3, 1000])
def test_what_was_sent_is_read_in_any_blocks(session, line, per_block):
    sent = packets(session)
    reader = line(session.key_log.read_bytes())
    for i in range(0, len(sent), per_block):
        reader.push(sent[i : i + per_block])
    reader.push([], final=True)
    assert reader.read == session.texts
    assert (reader.left(), reader.undecrypted) == (0, [])
    assert reader.tls.is_decrypted.tolist() == [True]


def test_bytes_come_with_the_packets_that_had_them(pair, line):
    made = pair(TLS_13)
    n_before = len(packets(made, 100))
    made.send(0, bytes(250))
    reader = line(made.key_log.read_bytes())
    reader.push(packets(made, 100))
    # the record has 272 bytes, in three packets: its content begins in the first, and ends with the third
    (run,) = [run for run in reader.runs if run[0] == 0]
    assert run[3] == [n_before + 1, n_before + 3]


def test_certificates_of_tls_13_are_given_out(pair, line):
    made = pair(TLS_13)
    opened = line(made.key_log.read_bytes()).push(packets(made))
    ((number, is_client, chain),) = opened.certificates
    assert (number, is_client) == (0, False)
    assert read_certificate(chain[0]).subject == "CN=broker.example"


@pytest.mark.parametrize("lost", [1, 5, 25])
def test_after_lost_packets_it_goes_on(session, line, lost):
    sent = packets(session)
    at = len(sent) // 2
    reader = line(session.key_log.read_bytes())
    reader.push(sent[:at])
    gone = [(side, len(text)) for side, text in sent[at : at + lost]]
    reader.push([*gone, *sent[at + lost :]])
    reader.push([], final=True)
    for side in (0, 1):
        runs = [text for of, _, text, _ in reader.runs if of == side]
        assert session.texts[side].startswith(runs[0])
        assert session.texts[side].endswith(runs[-1])
        assert len(runs[-1]) > 1000 * side
    assert reader.left() == 0
    assert {row.reason for row in reader.undecrypted} <= {"gap"}


@pytest.mark.parametrize("name", ["gcm-128", "chacha", "tls13"])
def test_the_size_of_a_hole_is_known(pair, line, name):
    made = talk(pair(*SUITES[NAMES.index(name)][:2]), 4)
    for i in range(8):
        made.send(0, b"small %d" % i)
    sent = packets(made)
    reader = line(made.key_log.read_bytes())
    gone = [(side, len(text)) for side, text in sent[-6:-3]]
    reader.push([*sent[:-6], *gone, *sent[-3:]])
    (hole,) = [gap for side, gap, _, _ in reader.runs if side == 0 and gap]
    assert hole == 3 * len(b"small 0")


def test_the_search_behind_a_gap_is_bounded(pair, line, monkeypatch):
    monkeypatch.setattr(direction, "SEARCH_LIMIT", 3)
    made = pair(TLS_12, "ECDHE-RSA-CHACHA20-POLY1305")
    for i in range(10):
        made.send(0, b"small %d" % i)
    sent = packets(made)
    reader = line(made.key_log.read_bytes())
    reader.push([*sent[:-6], *((side, len(text)) for side, text in sent[-6:-2]), *sent[-2:]])
    reader.push([], final=True)
    assert b"small 3" in reader.read[0]
    assert b"small 8" not in reader.read[0]
    assert reader.left() == 0


@pytest.mark.parametrize("by_syn", [True, False])
@pytest.mark.parametrize("per_block", [1, 1000])
def test_a_connection_that_began_before_the_capture(pair, line, by_syn, per_block):
    made = talk(pair(TLS_13))
    sent = packets(made)
    cut = len(sent) // 2
    others = b"".join(
        b"CLIENT_TRAFFIC_SECRET_0 %064x %064x\nCLIENT_TRAFFIC_SECRET_0 %064x %096x\n" % (i, i, i + 99, i)
        for i in range(1, 50)
    )
    reader = line(others + made.key_log.read_bytes(), by_syn=by_syn)
    reader.push([(side, len(text)) for side, text in sent[:cut]] + sent[cut:][:2] if by_syn else sent[cut:][:2])
    for i in range(cut + 2, len(sent), per_block):
        reader.push(sent[i : i + per_block])
    reader.push([], final=True)
    for side in (0, 1):
        assert made.texts[side].endswith(reader.read[side])
    assert len(reader.read[1]) > 10_000
    assert reader.left() == 0
    assert {row.reason for row in reader.undecrypted} == {"gap" if by_syn else "mid_stream_start"}


def test_without_its_secret_a_connection_is_left_as_it_is(pair, line):
    made = talk(pair(TLS_13))
    reader = line(b"CLIENT_RANDOM %064x %096x" % (1, 1))
    reader.push(packets(made))
    assert reader.read == [b"".join(text for of, text in made.packets if of == side) for side in (0, 1)]
    assert reader.tls.is_decrypted.tolist() == [False]
    assert reader.tls.why_not(0) == NO_SECRET


def test_without_its_handshake_tls_12_is_left_as_it_is(pair, line):
    made = talk(pair(TLS_12))
    sent = packets(made)
    reader = line(made.key_log.read_bytes(), by_syn=False)
    reader.push(sent[len(sent) // 2 :])
    reader.push([], final=True)
    assert reader.tls.why_not(0) == NO_HANDSHAKE
    assert sum(map(len, reader.read)) == sum(len(text) for _, text in sent[len(sent) // 2 :])


@pytest.mark.parametrize("label", [b"CLIENT_HANDSHAKE", b"SERVER_HANDSHAKE", b"HANDSHAKE"])
def test_the_secrets_of_the_handshake_may_be_missing(pair, line, label):
    made = talk(pair(TLS_13))
    kept = b"".join(text for text in made.key_log.read_bytes().splitlines(True) if label not in text.split()[0])
    reader = line(kept)
    reader.push(packets(made))
    assert reader.read == made.texts


def test_with_the_secret_of_one_side_that_side_is_read(pair, line):
    made = talk(pair(TLS_13))
    kept = b"".join(t for t in made.key_log.read_bytes().splitlines(True) if b"SERVER_TRAFFIC" not in t.split()[0])
    reader = line(kept)
    reader.push(packets(made))
    assert reader.read == [made.texts[0], b""]
    assert {(row.reason, row.detail) for row in reader.undecrypted} == {
        ("tls", "the key log lacks the secret of this side's data")
    }
    assert reader.left() == 0


def test_a_changed_record_is_passed_over(session, line):
    sent = packets(session, 1 << 20)
    side, text = sent[-2]
    sent[-2] = side, text[:-1] + bytes([text[-1] ^ 1])
    reader = line(session.key_log.read_bytes())
    reader.push(sent)
    assert session.texts[side].startswith(reader.read[side])
    assert b"question 11" not in reader.read[0]
    assert reader.read[1] == session.texts[1]
    ((reason, detail),) = {(row.reason, row.detail) for row in reader.undecrypted}
    assert reason == "tls"
    assert detail.endswith("does not open with the keys of the key log")
    assert reader.left() == 0


def test_a_state_that_is_saved_has_no_secret(session, line):
    sent = packets(session)
    reader = line(session.key_log.read_bytes())
    reader.push(sent[: len(sent) // 2])
    state = pickle.dumps(reader.tls)
    for line_of_log in session.key_log.read_text().splitlines():
        if not line_of_log.startswith("#"):
            assert bytes.fromhex(line_of_log.split()[2]) not in state
    reader.tls = pickle.loads(state)
    reader.tls.unlock(reader.key_log)
    reader.push(sent[len(sent) // 2 :])
    assert reader.read == session.texts


def test_no_more_connections_wait_than_may(pair, line, monkeypatch):
    """Those whose handshake was seen do not wait."""
    monkeypatch.setattr("kafkascope_parsers.tls.streams.HELD_CONNECTIONS_LIMIT", 0)
    made = talk(pair(TLS_13))
    reader = line(made.key_log.read_bytes())
    reader.push(packets(made))
    assert reader.tls.why_not(0) == "too many connections whose handshake is not in the capture"
    monkeypatch.setattr("kafkascope_parsers.tls.streams.HELD_CONNECTIONS_LIMIT", 1)
    reader = line(made.key_log.read_bytes())
    reader.push(packets(made))
    assert (reader.read, reader.tls._n_held) == (made.texts, 0)


def test_keys_that_were_given_up_are_made_anew(session, line):
    """As of connections that are quiet while many others are not."""
    sent = packets(session)
    reader = line(session.key_log.read_bytes())
    for i in range(0, len(sent), 5):
        reader.push(sent[i : i + 5])
        for number in list(reader.tls._keyed):
            reader.tls._connections[number].lock()
            del reader.tls._keyed[number]
    assert reader.read == session.texts


def test_without_keys_a_saved_connection_goes_on_undecrypted(session, line):
    sent = packets(session)
    reader = line(session.key_log.read_bytes())
    reader.push(sent[: len(sent) // 2])
    reader.tls = pickle.loads(pickle.dumps(reader.tls))
    reader.tls.unlock(KeyLog())
    reader.push(sent[len(sent) // 2 :])
    reader.push([], final=True)
    assert {row.reason for row in reader.undecrypted} == {"tls"}
    assert reader.left() == 0


def test_spoilt_bytes_end(session, line):
    """Whatever is damaged, every byte is counted once."""
    for at in range(0, 3000, 149):
        sent, place = packets(session), at
        for i, (side, text) in enumerate(sent):
            if place < len(text):
                sent[i] = side, (text[:place] + b"\x17\x03\x03\x00\x20" + text[place + 5 :])[: len(text)]
                break
            place -= len(text)
        reader = line(session.key_log.read_bytes())
        for i in range(0, len(sent), 7):
            reader.push(sent[i : i + 7])
        reader.push([], final=True)
        assert reader.left() == 0


def test_connections_that_limits_keep_from_the_key_log_are_counted(pair, line, monkeypatch):
    made = pair(TLS_13)
    for _ in range(3):
        made.send(0, bytes(300))
    after = packets(made)[-3:]
    keys = made.key_log.read_bytes()
    lines = [text.split() for text in keys.splitlines() if text and not text.startswith(b"#")]
    others, more = (
        b"".join(b" ".join((label, random, secret[::-1])) + b"\n" for label, _, secret in lines)
        for random in (b"ab" * 32, b"cd" * 32)
    )
    reader = line(others + more, by_syn=False)
    monkeypatch.setattr(connection, "CANDIDATE_LIMIT", 1)
    reader.push(after, final=True)
    assert (reader.tls.n_not_tried, reader.tls.n_partly_tried) == (0, 1)
    late = line(others, by_syn=False)
    monkeypatch.setattr(streams, "HELD_CONNECTIONS_LIMIT", 0)
    late.push(after, final=True)
    assert (late.tls.n_not_tried, late.tls.n_partly_tried) == (1, 0)


def test_each_record_is_tried_with_every_session(pair, line):
    """What looks like a record at the begin of a capture is none: the next one shows the session."""
    made = pair(TLS_13)
    for _ in range(3):
        made.send(0, bytes(300))
    after = packets(made)[-3:]
    false_record = b"\x17\x03\x03\x00\x20" + bytes(32)
    reader = line(made.key_log.read_bytes(), by_syn=False)
    reader.push([(0, false_record), *after], final=True)
    assert bytes(300) in reader.read[0]
