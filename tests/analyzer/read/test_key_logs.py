"""Key logs as files: what cannot be read whole is an error, and nothing of it is left out in silence."""

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import zstandard

from kafkascope_analyzer.read import key_logs
from kafkascope_analyzer.read.key_logs import key_log_places, read_key_logs
from kafkascope_parsers.errors import UsageError

LINE = b"CLIENT_RANDOM " + b"ab" * 32 + b" " + b"cd" * 48 + b"\n"


@pytest.mark.parametrize("packed", [False, True])
def test_a_key_log_that_is_too_long_is_an_error_also_where_it_is_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    file, text = tmp_path / "keys.log", 20 * LINE
    file.write_bytes(zstandard.compress(text) if packed else text)
    assert len(read_key_logs(key_log_places([file]))) == 1
    monkeypatch.setattr(key_logs, "FILE_BYTES", len(text) - 1)
    with pytest.raises(UsageError, match=r"keys\.log: the key log cannot be read: it is longer than 1 GiB") as error:
        read_key_logs(key_log_places([file]))
    assert "cdcd" not in str(error.value)


def test_a_directory_stands_for_its_files_and_must_have_some(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no key log in this directory"):
        key_log_places([tmp_path])
    for name in ("b.log", "a.log"):
        (tmp_path / name).write_bytes(LINE)
    for folder in (tmp_path, tmp_path.as_uri()):
        assert [place.local for place in key_log_places([folder])] == [tmp_path / "a.log", tmp_path / "b.log"]


@pytest.mark.parametrize("given", ["-", "fifo"])
def test_what_can_be_read_only_once_is_no_key_log(tmp_path: Path, given: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UsageError, match="a key log is read more than once: give a file"):
        key_log_places([given if given == "-" else tmp_path / given])


def test_lines_that_lie_across_portions_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [LINE.replace(b"ab", bytes(f"{n:02x}", "ascii")) for n in range(200)]
    (tmp_path / "keys.log").write_bytes(b"".join(lines).rstrip())
    monkeypatch.setattr(key_logs, "_CHUNK_BYTES", 100)
    log = read_key_logs(key_log_places([tmp_path / "keys.log"]), unwanted=frozenset({bytes([7]) * 32}))
    assert (len(log), log.n_malformed) == (199, 0)


def test_a_key_log_that_grows_is_read_as_far_as_it_is(tmp_path: Path) -> None:
    """The end of its last line may not be written yet; the next time that it is read it is."""
    file, lines = tmp_path / "keys.log", [LINE.replace(b"ab", bytes(f"{n:02x}", "ascii")) for n in range(20)]
    text = b"".join(lines)
    file.write_bytes(text[: len(LINE) * 7 + 40])
    log = read_key_logs(key_log_places([file]))
    assert (len(log), log.n_malformed) == (7, 1)
    file.write_bytes(text)
    log = read_key_logs(key_log_places([file]))
    assert (len(log), log.n_malformed) == (20, 0)


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_a_compressed_key_log_is_unpacked(tmp_path: Path, module: ModuleType) -> None:
    (tmp_path / "keys.log").write_bytes(module.compress(20 * LINE))
    assert len(read_key_logs(key_log_places([tmp_path / "keys.log"]))) == 1


def test_a_file_without_lines_is_not_held_in_memory(tmp_path: Path) -> None:
    (tmp_path / "zeros").write_bytes(bytes(3 << 20))
    with pytest.raises(UsageError, match="it has no lines"):
        read_key_logs(key_log_places([tmp_path / "zeros"]))


def test_key_logs_in_a_store_are_read_as_those_here(bucket: Callable[[], Any]) -> None:
    made = bucket()
    made.put("keys/a.log", LINE)
    made.put("keys/b.log.zst", zstandard.compress(LINE.replace(b"ab", b"ba")))
    for given, n in ((f"{made.uri}/keys/a.log", 1), (f"{made.uri}/keys", 2)):
        assert len(read_key_logs(key_log_places([given]))) == n
    with pytest.raises(UsageError, match="there is no key log in this directory"):
        key_log_places([f"{made.uri}/none"])
