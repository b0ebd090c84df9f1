from pathlib import Path

import pytest

from kafkascope_analyzer.cli.dataset_place import checked_out, default_out
from kafkascope_parsers.errors import UsageError


def dataset_at(place: Path) -> Path:
    place.mkdir()
    (place / "_dataset.json").write_text("{}")
    return place


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
        ("s3://bucket/in/b.pcap.gz", "b.kscope"),
        ("https://host/in/b.pcap?signature=secret", "b.kscope"),
        ("s3://bucket/in/", "in.kscope"),
    ],
)
def test_name_of_the_dataset(first: str, out: str) -> None:
    assert default_out(first) == out


def test_a_new_name_in_a_directory_that_is_there_is_fine(tmp_path: Path) -> None:
    checked_out(str(tmp_path / "new.kscope"), overwrite=False)
    with pytest.raises(UsageError, match="not there"):
        checked_out(str(tmp_path / "missing" / "new.kscope"), overwrite=False)


def test_a_dataset_is_replaced_only_with_overwrite(tmp_path: Path) -> None:
    place = dataset_at(tmp_path / "a.kscope")
    with pytest.raises(UsageError, match="--overwrite"):
        checked_out(str(place), overwrite=False)
    checked_out(str(place), overwrite=True)


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
            checked_out(str(place), overwrite=overwrite)


def test_a_place_in_a_store_is_judged_as_a_folder_is(bucket) -> None:
    made = bucket()
    assert str(checked_out(f"{made.uri}/new.kscope", overwrite=False)) == f"{made.uri}/new.kscope"
    made.put("there.kscope/_dataset.json", b"{}")
    with pytest.raises(UsageError, match="--overwrite"):
        checked_out(f"{made.uri}/there.kscope", overwrite=False)
    checked_out(f"{made.uri}/there.kscope", overwrite=True)
    made.put("other/requests/part-0.parquet", b"somebody's")
    made.put("photos/a.jpg", b"")
    for name in ("other", "photos"):
        with pytest.raises(UsageError, match="is not a kafkascope dataset"):
            checked_out(f"{made.uri}/{name}", overwrite=True)
    with pytest.raises(UsageError, match="there is no such bucket"):
        checked_out("s3://no-such-bucket/x.kscope", overwrite=False)
    with pytest.raises(UsageError, match="only read from"):
        checked_out("https://host/x.kscope", overwrite=False)
