"""A capture and its packed copy are one; what only has the name of a copy is another."""

import gzip
import io
from pathlib import Path

import pytest
import zstandard

from kafkascope_analyzer.read.inputs import expand_inputs

CAPTURE = Path(__file__).parents[3] / "fixtures" / "captures" / "pieces" / "path_cut.pcap.zst"


@pytest.fixture(scope="module")
def plain() -> bytes:
    with zstandard.open(CAPTURE, "rb") as packed:
        return packed.read()


def names(*arguments: Path | str) -> list[str]:
    return [Path(str(place)).name for place in expand_inputs([str(argument) for argument in arguments])]


def test_the_packed_copies_of_a_ring_count_once(tmp_path: Path, plain: bytes) -> None:
    (tmp_path / "kafka.pcap00").write_bytes(plain)
    (tmp_path / "kafka.pcap00.zst").write_bytes(zstandard.compress(plain))
    (tmp_path / "kafka.pcap00.gz").write_bytes(gzip.compress(plain))
    (tmp_path / "kafka.pcap01.zst").write_bytes(zstandard.compress(plain))
    assert names(tmp_path) == ["kafka.pcap00", "kafka.pcap01.zst"]
    assert names(tmp_path / "kafka.pcap*") == ["kafka.pcap00", "kafka.pcap01.zst"]


def test_a_packed_file_of_the_lap_before_is_another_capture(tmp_path: Path, plain: bytes) -> None:
    earlier = bytearray(plain)
    earlier[24] ^= 1  # the time of the first packet
    (tmp_path / "kafka.pcap00").write_bytes(plain)
    (tmp_path / "kafka.pcap00.zst").write_bytes(zstandard.compress(bytes(earlier)))
    assert names(tmp_path) == ["kafka.pcap00", "kafka.pcap00.zst"]


@pytest.mark.parametrize("kept", [0, 30, 5_000])
def test_a_copy_that_is_still_being_packed_is_a_copy(tmp_path: Path, plain: bytes, kept: int) -> None:
    target = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(target, closefd=False) as writer:
        writer.write(plain)
    (tmp_path / "a.pcap").write_bytes(plain)
    (tmp_path / "a.pcap.zst").write_bytes(target.getvalue()[:kept])
    assert names(tmp_path) == ["a.pcap"]


def test_copies_that_a_shell_names_one_by_one_count_once_too(tmp_path: Path, plain: bytes) -> None:
    (tmp_path / "a.pcap").write_bytes(plain)
    (tmp_path / "a.pcap.zst").write_bytes(zstandard.compress(plain))
    assert names(tmp_path / "a.pcap", tmp_path / "a.pcap.zst") == ["a.pcap"]
