"""Closed standard streams, limits of the machine and names of any bytes: one sentence and the documented exit code."""

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import typer

from kafkascope_analyzer.cli.dataset_place import default_out
from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.dataset.temporary_folders import OwnedFolder, ownerless, remove_ownerless, temporary_root
from kafkascope_analyzer.read.captures import text_of
from kafkascope_parsers.errors import UsageError


def kafkascope(shell: str) -> tuple[int, str]:
    """Exit code and standard error of `kafkascope` with these arguments and redirections."""
    command = f"{sys.executable} -m kafkascope_analyzer.cli {shell}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("shell", "code", "said"),
    [
        ("rules >&-", 2, "standard output cannot be written: it is closed"),
        ("rules >/dev/full", 2, "standard output cannot be written: no space left"),
        ("--help >/dev/full", 2, "standard output cannot be written: no space left"),
        ("protocol >&-", 2, "standard output cannot be written: it is closed"),
        ("rules >&- 2>&-", 2, ""),
        ("info /nonexistent 2>/dev/full", 3, ""),
    ],
)
def test_streams_that_are_closed_or_full(shell: str, code: int, said: str) -> None:
    ended, error = kafkascope(shell)
    assert (ended, "Traceback" in error, said in error) == (code, False, True), error
    assert error.count("\n") == (1 if said else 0)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "not enough memory"),
        (pa.ArrowMemoryError("malloc of size 64 failed"), "not enough memory"),
        (OSError(errno.EMFILE, "Too many open files", "a"), "too many files are open"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "not enough memory"),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "threads or processes"),
        (RuntimeError("can't start new thread"), "threads or processes"),
        (ImportError("libx.so: failed to map segment from shared object"), "not enough memory"),
        (OSError(errno.EFBIG, "File too large"), "ulimit -f"),
    ],
)
def test_a_limit_of_the_machine_is_one_sentence(
    error: Exception, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended, exit_codes():
        raise ValueError from error
    assert ended.value.exit_code == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1


def test_too_little_address_space_is_refused_before_libraries_are_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (600 << 20, 600 << 20))
    with pytest.raises(typer.Exit) as ended, exit_codes():
        pass
    assert ended.value.exit_code == 2
    assert "the limit of 600 MiB of memory is too low" in capsys.readouterr().err


def test_names_that_are_not_utf8() -> None:
    name = os.fsdecode(b"caf\xe9.pcap.zst")
    assert text_of(name) == "caf\\xe9.pcap.zst"
    assert default_out(name) == "caf_.kscope"
    with pytest.raises(UsageError, match="has to be UTF-8"):
        Storage.of(name).check_name()
    with pytest.raises(UsageError, match="has to be UTF-8"):
        temporary_root(Path(name))


def test_a_folder_that_nobody_owns_any_more_is_removed(tmp_path: Path) -> None:
    mine, left = (OwnedFolder.make(tmp_path / f"kafkascope-{kind}-0123456789ab") for kind in ("cut", "spark"))
    other = tmp_path / "kafkascope-kernels-0"
    other.mkdir()
    (tmp_path / f"kafkascope-{'0' * 12}").symlink_to(other)
    assert ownerless(tmp_path) == []
    os.close(left.lock)  # as the system does where the process is killed
    (left.path / "blockmgr").mkdir()
    assert ownerless(tmp_path) == [left.path]
    remove_ownerless(tmp_path)
    assert (mine.path.is_dir(), left.path.exists(), other.is_dir()) == (True, False, True)
    mine.remove()
    assert not mine.path.exists()


def test_the_next_folder_removes_that_of_a_killed_process(tmp_path: Path, kill: Callable[[str], None]) -> None:
    kill(
        "import os, pathlib, signal\n"
        "from kafkascope_analyzer.dataset.temporary_folders import OwnedFolder\n"
        f"OwnedFolder.make(pathlib.Path({str(tmp_path)!r}) / 'kafkascope-cut-0123456789ab')\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["kafkascope-cut-0123456789ab"]
    OwnedFolder.make(tmp_path / "kafkascope-cut-ba9876543210").remove()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def kill() -> Callable[[str], None]:
    """Runs a program that kills itself."""

    def run(program: str) -> None:
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9

    return run
