"""Key logs as OpenSSL, NSS and others write them, and as damage leaves them."""

import pickle
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_parsers.tls import KeyLog, Secret

RANDOM, MASTER, TRAFFIC = "ab" * 32, "cd" * 48, "ef" * 32


def read(text):
    log = KeyLog()
    log.add(text.encode() if isinstance(text, str) else text)
    return log


def test_a_log_of_openssl_is_read(pair):
    made = pair(ssl.TLSVersion.TLSv1_3)
    log = read(made.key_log.read_bytes())
    (session,) = [secrets for _, secrets in log.unseen()]
    assert log.n_malformed == 0
    assert set(session.by_label) == {
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
    }


@pytest.mark.parametrize(
    "line",
    [
        f"CLIENT_RANDOM {RANDOM} {MASTER[:-2]}",
        f"CLIENT_RANDOM {RANDOM[:-2]} {MASTER}",
        f"CLIENT_RANDOM {RANDOM}",
        f"CLIENT_RANDOM {RANDOM} {MASTER} more",
        f"CLIENT_RANDOM {RANDOM} {MASTER[:-2]}xy",
        f"CLIENT_TRAFFIC_SECRET_0 {RANDOM} {TRAFFIC[:-2]}",
        f"CLIENT_TRAFFIC_SECRET_ {RANDOM} {TRAFFIC}",
        f"CLIENT_TRAFFIC_SECRET_99999 {RANDOM} {TRAFFIC}",
        f"MYSTERY {RANDOM} {TRAFFIC}",
        "\x00\xff",
    ],
)
def test_malformed_lines_are_counted(line):
    log = read(f"# made by hand\n\n{line}\nCLIENT_RANDOM {RANDOM} {MASTER}\n")
    assert (log.n_malformed, len(log)) == (1, 1)


def test_lines_that_decrypt_nothing_are_no_fault():
    log = read(f"EXPORTER_SECRET {RANDOM} {TRAFFIC}\r\nRSA 0011 {MASTER}\r\n#\r\n")
    assert (log.n_malformed, len(log)) == (0, 0)


def test_a_session_may_be_named_by_its_id():
    log = read(f"RSA Session-ID:AABB Master-Key:{MASTER.upper()}\n")
    log.resume(bytes(32), (b"", b"\xaa\xbb"))
    assert log.session(bytes(32)).by_label["CLIENT_RANDOM"].reveal() == bytes.fromhex(MASTER)
    assert log.n_malformed == 0


def test_what_openssl_logs_after_an_update_is_no_fault():
    assert read(f"CLIENT_TRAFFIC_SECRET_N {RANDOM} {TRAFFIC}").n_malformed == 0


def test_later_generations_of_keys_are_read():
    log = read(f"SERVER_TRAFFIC_SECRET_7 {RANDOM} {TRAFFIC}")
    session = log.session(bytes.fromhex(RANDOM))
    assert session.traffic(1, 7).reveal() == bytes.fromhex(TRAFFIC)
    assert session.traffic(1) is None


def test_those_before_the_first_seen_one_come_first_the_youngest_of_them_first():
    randoms = [bytes([i]) * 32 for i in range(5)]
    log = read("".join(f"CLIENT_RANDOM {random.hex()} {MASTER}\n" for random in randoms))
    log.session(randoms[2])
    assert [random for random, _ in log.unseen()] == [randoms[i] for i in (1, 0, 3, 4)]


@given(st.binary(max_size=400))
def test_any_bytes_end(noise):
    assert len(read(noise)) == 0


def test_no_text_shows_a_secret():
    secret, log = Secret(b"hunter2!" * 4), read(f"CLIENT_RANDOM {RANDOM} {MASTER}")
    for shown in (repr(secret), str(secret), f"{secret}", f"{secret!r}", repr(log), repr(list(log.unseen()))):
        assert "hunter2" not in shown
        assert MASTER not in shown
        assert repr(bytes.fromhex(MASTER)) not in shown
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(secret)
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(log)
