"""What is saved of streams between two captures, and that they go on from there."""

import pickle
import random

import pytest

from kafkascope_parsers.tcp.reader import TcpStreams

_ISN = (1_000, 5_000)
_READ = b"a request that was read"


def _taken(wire, tcp, reader, packets, first_no, n_left=0):
    """Pushes packets as a block; the reader takes all but the last bytes."""
    buf, segments = wire.segments(packets, first_no)
    streams = tcp.push(buf, segments)
    tcp.keep_rest(streams, reader.take(streams, lambda size: size - min(size, n_left)))


def test_bytes_of_runs_that_were_read_are_not_saved(wire):
    tcp, reader = TcpStreams(), wire.reader()
    packets = [
        wire.packet(0, _ISN[0] + 1, _READ, ack=_ISN[1] + 1),
        wire.packet(1, _ISN[1] + 1, b"yes", ack=_ISN[0] + 1 + len(_READ)),
        wire.packet(0, _ISN[0] + 1 + len(_READ), b"not read", ack=_ISN[1] + 4),
    ]
    _taken(wire, tcp, reader, packets, 1, len(b"not read"))
    saved = pickle.dumps(tcp._assembler)  # first copies, of the latest payload alone, are kept beside it
    assert _READ not in saved
    assert b"not read" in saved


@pytest.mark.parametrize("seed", range(8))
def test_streams_go_on_from_what_was_saved(wire, seed):
    rng = random.Random(seed)
    tcp, reader = TcpStreams(), wire.reader()
    sent, packets = bytearray(), []
    for _ in range(40):
        payload = rng.randbytes(rng.randrange(1, 200))
        packets.append(wire.packet(0, _ISN[0] + 1 + len(sent), payload, ack=_ISN[1] + 1))
        sent += payload
    for first in range(0, 40, 8):
        _taken(wire, tcp, reader, packets[first : first + 8], first + 1, rng.randrange(300))
        tcp = pickle.loads(pickle.dumps(tcp))
    reader.take(tcp.finish())
    assert reader.streams[0] == sent
