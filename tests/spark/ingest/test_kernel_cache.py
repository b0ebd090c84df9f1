"""Where executors keep compiled kernels when they may not write beside the package."""

import os
import pathlib
import tempfile

import pytest
from numba import config

from kafkascope_spark.ingest.kernel_cache import prepare_kernel_cache


@pytest.fixture
def temporary(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(config, "CACHE_DIR", "")
    return tmp_path / f"kafkascope-kernels-{os.getuid()}"


def test_beside_the_package_where_that_can_be_written(temporary: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: True)
    prepare_kernel_cache()
    assert (config.CACHE_DIR, temporary.exists()) == ("", False)


def test_else_in_a_folder_of_the_workers_user(temporary: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    prepare_kernel_cache()
    assert (str(temporary), temporary.stat().st_mode & 0o777) == (config.CACHE_DIR, 0o700)


def test_never_in_one_that_others_may_write_to(temporary: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in there is executed."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    temporary.mkdir()
    temporary.chmod(0o777)
    prepare_kernel_cache()
    assert config.CACHE_DIR == ""
