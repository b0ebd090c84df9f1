"""Machine code is kept for the user's other processes, and loaded only from where nobody else could have put it."""

import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkascope_parsers import kernel_files
from kafkascope_parsers.kernel_files import UNUSED_S, find_code, save_code, user_folder

CODE = b"machine code"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's cache folder, home and temporary files of their own; no NUMBA_CACHE_DIR, and no wheel's folder."""
    monkeypatch.setattr(kernel_files, "SHIPPED", tmp_path / "shipped")
    for name in ("cache", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    caches = (user_folder, kernel_files._remove_unused, kernel_files._trusted_users, kernel_files._compiler)
    for each in caches:
        each.cache_clear()
    yield tmp_path
    for each in caches:
        each.cache_clear()


def loaded(name: str) -> bytes | None:
    path = find_code(name)
    return path.read_bytes() if path else None


def is_private(path: Path) -> bool:
    return not stat.S_IMODE(path.stat().st_mode) & 0o077


def test_what_was_saved_is_loaded_and_only_the_user_can_read_it(home: Path) -> None:
    before = os.umask(0)
    try:
        file = save_code("kernel", CODE)
    finally:
        os.umask(before)
    assert loaded("kernel") == CODE
    assert find_code("other") is None
    assert file == find_code("kernel")
    assert file.parent == home / "cache" / "kafkascope" / "kernels"
    assert is_private(file)
    assert is_private(file.parent)


@pytest.mark.parametrize(
    ("numba", "cache", "expected"),
    [
        ("named", "cache", "named/kernels"),
        ("", "cache", "cache/kafkascope/kernels"),
        ("", "", "home/.cache/kafkascope/kernels"),
        ("", "a-file", f"temporary/kafkascope-kernels-{os.getuid()}"),
    ],
)
def test_the_folder_is_that_of_the_environment_or_else_the_users(
    home: Path, monkeypatch: pytest.MonkeyPatch, numba: str, cache: str, expected: str
) -> None:
    (home / "a-file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", numba and str(home / numba))
    monkeypatch.setenv("XDG_CACHE_HOME", cache and str(home / cache))
    assert user_folder() == home / expected
    assert is_private(home / expected)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to_is_not_used(home: Path, mode: int) -> None:
    folder = home / "cache" / "kafkascope" / "kernels"
    folder.mkdir(parents=True)
    folder.chmod(mode)
    assert user_folder() == home / "temporary" / f"kafkascope-kernels-{os.getuid()}"


def test_a_link_to_a_folder_is_not_used(home: Path) -> None:
    """In a place where others may write it could be theirs."""
    (home / "cache" / "kafkascope").mkdir()
    (home / "elsewhere").mkdir(0o700)
    (home / "cache" / "kafkascope" / "kernels").symlink_to(home / "elsewhere")
    assert user_folder() == home / "temporary" / f"kafkascope-kernels-{os.getuid()}"


def test_what_another_user_owns_is_neither_used_nor_loaded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without other users at hand: this process takes itself for another one."""
    save_code("kernel", CODE)
    monkeypatch.setattr(kernel_files, "_trusted_users", lambda: {os.getuid() + 1})
    assert find_code("kernel") is None
    user_folder.cache_clear()
    assert user_folder() is None
    assert save_code("kernel", CODE).read_bytes() == CODE  # for this process
    assert find_code("kernel") is None


def test_a_file_that_others_may_write_is_not_loaded() -> None:
    save_code("kernel", CODE).chmod(0o666)
    assert find_code("kernel") is None


def test_a_folder_that_can_only_be_read_is_passed_by(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(home / "image"))
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "image" not in str(path) and access(path, mode))
    assert save_code("new", CODE).relative_to(home).parts[0] == "cache"


def test_what_a_wheel_brings_comes_first_and_needs_no_compiler(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_code("kernel", CODE)
    (home / "shipped").mkdir()
    (home / "shipped" / "kernel.so").write_bytes(b"shipped")
    assert loaded("kernel") == b"shipped"
    monkeypatch.setattr(kernel_files, "_compiler", lambda: None)
    assert loaded("kernel") == b"shipped"
    assert find_code("other") is None


def test_another_version_of_the_compiler_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    save_code("kernel", CODE)
    monkeypatch.setattr(kernel_files, "version", lambda name: "0.0.1")
    kernel_files._compiler.cache_clear()
    assert find_code("kernel") is None


def test_a_full_disk_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="No space left"):
        save_code("kernel", CODE)
    assert [*user_folder().iterdir()] == []


def test_what_is_not_used_for_long_is_removed_and_what_is_used_stays() -> None:
    for name in ("old", "used"):
        file = save_code(name, CODE)
        long_ago = time.time() - UNUSED_S - 1
        os.utime(file, (long_ago, long_ago))
    assert loaded("used") == CODE
    kernel_files._remove_unused.cache_clear()  # as in a new process
    save_code("new", CODE)
    assert (loaded("old"), loaded("used"), loaded("new")) == (None, CODE, CODE)
