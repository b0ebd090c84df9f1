"""Key logs as files: what cannot be read whole is an error, and nothing of it is left out in silence."""

from pathlib import Path

import pytest
import zstandard

from kafkascope_analyzer.read import key_logs
from kafkascope_analyzer.read.key_logs import key_log_files, read_key_logs
from kafkascope_parsers.errors import UsageError

LINE = b"CLIENT_RANDOM " + b"ab" * 32 + b" " + b"cd" * 48 + b"\n"


@pytest.mark.parametrize("packed", [False, True])
def test_a_key_log_that_is_too_long_is_an_error_also_where_it_is_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    file, text = tmp_path / "keys.log", 20 * LINE
    file.write_bytes(zstandard.compress(text) if packed else text)
    assert len(read_key_logs([file])) == 1
    monkeypatch.setattr(key_logs, "FILE_BYTES", len(text) - 1)
    with pytest.raises(UsageError, match=r"keys\.log: the key log cannot be read: it is longer than 1 GiB") as error:
        read_key_logs([file])
    assert "cdcd" not in str(error.value)


def test_a_directory_stands_for_its_files_and_must_have_some(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no key log in this directory"):
        key_log_files([tmp_path])
    for name in ("b.log", "a.log"):
        (tmp_path / name).write_bytes(LINE)
    assert key_log_files([tmp_path]) == (tmp_path / "a.log", tmp_path / "b.log")
