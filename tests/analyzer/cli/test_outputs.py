from pathlib import Path

import pyarrow as pa
import pytest

from kafkascope_analyzer.cli.outputs import Staged, check_out, default_out
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import write_manifest
from kafkascope_parsers.errors import UsageError


def dataset_at(place: Path) -> Path:
    place.mkdir()
    (place / "_dataset.json").write_text("{}")
    return place


def write(work: Path) -> None:
    dataset_at(work)
    (work / "new").touch()


@pytest.mark.parametrize(
    ("first", "out"),
    [
        ("a/b.pcap.zst", "b.kscope"),
        ("b.PCAPNG", "b.kscope"),
        ("x.y.cap.gz", "x.y.kscope"),
        ("-", "stdin.kscope"),
        ("dir/", "dir.kscope"),
        ("plain", "plain.kscope"),
        ("d/*.pcap", "capture.kscope"),
    ],
)
def test_name_of_the_dataset(first: str, out: str) -> None:
    assert default_out(first) == Path(out)


def test_a_new_name_in_a_directory_that_is_there_is_fine(tmp_path: Path) -> None:
    check_out(tmp_path / "new.kscope", overwrite=False)
    with pytest.raises(UsageError, match="not there"):
        check_out(tmp_path / "missing" / "new.kscope", overwrite=False)


def test_a_dataset_is_replaced_only_with_overwrite(tmp_path: Path) -> None:
    place = dataset_at(tmp_path / "a.kscope")
    with pytest.raises(UsageError, match="--overwrite"):
        check_out(place, overwrite=False)
    check_out(place, overwrite=True)


@pytest.mark.parametrize("overwrite", [True, False])
def test_what_is_no_dataset_is_never_replaced(tmp_path: Path, overwrite: bool) -> None:
    precious = tmp_path / "holiday"
    precious.mkdir()
    (precious / "photo.jpg").touch()
    file = tmp_path / "file.kscope"
    file.touch()
    link = tmp_path / "link.kscope"
    link.symlink_to(dataset_at(tmp_path / "real.kscope"))
    for place in (precious, file, link):
        with pytest.raises(UsageError):
            check_out(place, overwrite=overwrite)


def test_a_run_that_ends_well_leaves_only_its_dataset(tmp_path: Path) -> None:
    old = dataset_at(tmp_path / "a.kscope")
    (old / "old").touch()
    with Staged(old, overwrite=True) as staged:
        write(staged.work)
        assert (old / "old").exists()
    staged.settle()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.kscope"]
    assert sorted(p.name for p in old.iterdir()) == ["_dataset.json", "new"]


def half_write(out: Path, error: type[BaseException]) -> None:
    with Staged(out, overwrite=True) as staged:
        staged.work.with_name(staged.work.name + ".partial").mkdir()
        write(staged.work)
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_run_that_fails_leaves_what_was_there(tmp_path: Path, error: type[BaseException]) -> None:
    old = dataset_at(tmp_path / "a.kscope")
    (old / "old").touch()
    with pytest.raises(error):
        half_write(old, error)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.kscope"]
    assert (old / "old").exists()


def keep_then_fail(out: Path, error: type[BaseException]) -> None:
    with Staged(out, overwrite=False) as staged:
        write(staged.work)
        staged.keep()
        write_manifest(staged.work, options={}, inputs=[], ledger={}, limits_hit={})
        Dataset.open(staged.work).write_file("stories/clients/part-0.parquet", pa.table({"a": [1]}))
        raise error


def test_tables_that_were_kept_outlive_an_error_but_not_ctrl_c(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        keep_then_fail(tmp_path / "a.kscope", RuntimeError)
    with pytest.raises(KeyboardInterrupt):
        keep_then_fail(tmp_path / "b.kscope", KeyboardInterrupt)
    assert [p.name for p in tmp_path.iterdir()] == ["a.kscope"]
    assert not Dataset.open(tmp_path / "a.kscope").tables
    assert not list((tmp_path / "a.kscope").rglob("*.parquet"))
