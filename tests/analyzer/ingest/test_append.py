"""Captures that are appended one after the other give the dataset that one ingest of all of them gives."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from stat import S_IMODE
from typing import Any

import pytest
import zstandard
from typer.testing import CliRunner, Result

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest import run as run_module
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.resolve.bucket_events import BucketEvents
from kafkascope_analyzer.resolve.tables.request_sums import RequestSums
from kafkascope_analyzer.scan.saved_state import load_state, save_state
from kafkascope_parsers.errors import UsageError

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"
STEPS = 5
_HEADER, _RECORD = 24, 16


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


def append(out: object, *captures: object) -> Result:
    return run("ingest", *captures, "-o", out, "--append")


def at_once(captures: Iterable[Path], folder: Path) -> Path:
    """The dataset of one ingest of all captures: without the overview that the command prints."""
    out = folder / "once.kscope"
    ingest(list(captures), out, IngestOptions())
    return out


def in_pieces(capture: Path, folder: Path, n: int) -> list[Path]:
    """The capture as a rotated series of n files, cut between packets wherever that falls."""
    with capture.open("rb") as file:
        raw = zstandard.ZstdDecompressor().stream_reader(file).read()
    at, starts = _HEADER, []
    while at < len(raw):
        starts.append(at)
        at += _RECORD + int.from_bytes(raw[at + 8 : at + 12], "little")
    edges = [starts[len(starts) * part // n] for part in range(n)] + [len(raw)]
    paths = [folder / f"{part:02}.pcap" for part in range(n)]
    for path, first, end in zip(paths, edges[:-1], edges[1:], strict=True):
        path.write_bytes(raw[:_HEADER] + raw[first:end])
    return paths


def contents(place: object) -> tuple[dict[str, list[str]], object]:
    """The rows of every table, messages too, in some order; the ledger and the limits that were hit."""
    dataset = Dataset.open(str(place))
    names = [name for name, listed in dataset.manifest.files.items() if listed]
    rows = {name: sorted(map(repr, dataset.read(name).to_pylist())) for name in names}
    return rows, (dataset.manifest.ledger, dataset.manifest.limits_hit, dataset.manifest.inputs)


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A small capture: each test appends some of these files several times."""
    return in_pieces(CAPTURES / "pieces" / "zk_dead_coordinator.pcap.zst", tmp_path_factory.mktemp("pieces"), 4)


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A capture with all that may cross the end of a file: clients of all kinds, a broker that dies and returns."""
    return in_pieces(CAPTURES / "leader_move.pcap.zst", tmp_path_factory.mktemp("steps"), STEPS)


@pytest.fixture(scope="module")
def whole(steps: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return contents(at_once(steps, tmp_path_factory.mktemp("whole")))


@pytest.mark.lab
@pytest.mark.parametrize(("jobs", "at_a_time"), [(1, 1), (2, 2)])
def test_steps_give_what_one_ingest_gives(
    steps: list[Path], whole: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int, at_a_time: int
) -> None:
    """The tests of a small capture below do the same: they compare late files, grown files and joined files with one
    ingest of all of them."""
    monkeypatch.setattr("kafkascope_analyzer.ingest.run.BYTES_PER_WORKER", 1)
    out = tmp_path / "grown.kscope"
    for first in range(0, STEPS, at_a_time):
        # Later runs go on with the buckets of the first.
        asked = ["--jobs", jobs] if first == 0 else []
        assert append(out, *steps[first : first + at_a_time], *asked).exit_code == 0
    rows, rest = contents(out)
    assert rows.keys() == whole[0].keys()
    assert [name for name in rows if rows[name] != whole[0][name]] == []
    assert rest == whole[1]
    assert Dataset.open(out).manifest.options["buckets"] == jobs
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert files == {*Dataset.open(out).manifest.paths, "_dataset.json", "views.sql"}


@pytest.mark.slow
def test_what_was_saved_is_not_written_again(pieces: list[Path], tmp_path: Path) -> None:
    """A store takes each hour what that hour has spilled, and not all of the day again."""
    out = tmp_path / "grown.kscope"
    saved = []
    for piece in pieces[:3]:
        assert append(out, piece).exit_code == 0
        files = Dataset.open(out).manifest.saved_scan
        saved.append({file: (out / file).stat().st_mtime_ns for file in files if file.endswith(".arrow.zst")})
    first, second, third = saved
    assert first
    assert first.items() < second.items() < third.items()
    states = list((out / "saved_scan").rglob("*.state.zst"))
    assert len(states) == 6, "of reading, flow and servers; of the scan, the requests and the partitions of the bucket"
    assert all(S_IMODE(state.stat().st_mode) == 0o600 for state in states), "pieces of streams are for the owner alone"


def kept_files(before: Dataset, after: Dataset, table: str) -> set[str]:
    """The files of a table that say what they are made of, and that a later run has kept."""
    first, second = ({file.path for file in each.manifest.files[table] if file.made_of} for each in (before, after))
    return first & second


@pytest.mark.slow
def test_files_whose_rows_stay_are_not_written_again(pieces: list[Path], tmp_path: Path) -> None:
    """What the third file shows changes nothing that is known of the connections of the second one."""
    out = tmp_path / "grown.kscope"
    runs = []
    for piece in pieces:
        assert append(out, piece).exit_code == 0
        runs.append(Dataset.open(out))
    for table in ("requests", "partitions", "tcp_events"):
        assert kept_files(runs[-2], runs[-1], table), table
    assert run("compact", out).exit_code == 0
    joined = Dataset.open(out)
    (made_of,) = (file.made_of for file in joined.manifest.files["partitions"] if file.made_of)
    assert set(made_of) == {key for file in runs[-1].manifest.files["partitions"] for key in file.made_of}
    later = in_pieces(CAPTURES / "pieces" / "path_cut.pcap.zst", tmp_path, 1)[0]
    assert append(out, later).exit_code == 0
    assert kept_files(joined, Dataset.open(out), "partitions")
    assert contents(out) == contents(at_once([*pieces, later], tmp_path))


@pytest.mark.slow
def test_requests_are_added_up_once(pieces: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append adds up the requests of its own captures, and shows the sources of events few of the earlier ones."""
    out, added_up, shown, partitions = tmp_path / "grown.kscope", [], [], []
    take, once_more, take_partitions = RequestSums.take, RequestSums.once_more, BucketEvents.take_partitions

    def counted_take(self: RequestSums, batch: Any, rows: Any) -> None:
        added_up.append(rows.num_rows)
        take(self, batch, rows)

    def counted(self: RequestSums) -> Iterator[Any]:
        for rows in once_more(self):
            shown.append(rows.num_rows)
            yield rows

    def counted_partitions(self: BucketEvents, rows: Any, api_key: int, direction: str) -> None:
        partitions.append(rows.num_rows)
        take_partitions(self, rows, api_key, direction)

    monkeypatch.setattr(BucketEvents, "take_partitions", counted_partitions)
    monkeypatch.setattr(RequestSums, "take", counted_take)
    monkeypatch.setattr(RequestSums, "once_more", counted)
    for piece in pieces:
        for counts in (added_up, shown, partitions):
            counts.clear()
        assert append(out, piece).exit_code == 0
    n_requests = Dataset.open(out).rows("requests")
    assert sum(added_up) < n_requests / 2
    assert sum(added_up) + sum(shown) < n_requests
    assert sum(partitions) < Dataset.open(out).rows("partitions")
    assert contents(out) == contents(at_once(pieces, tmp_path))


@pytest.mark.slow
def test_a_file_counts_once(pieces: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "a.kscope"
    assert append(out, *pieces[:2]).exit_code == 0
    before = contents(out)
    again = append(out, *pieces[:2])
    assert (again.exit_code, contents(out)) == (0, before)
    assert "2 captures are in" in again.stderr
    assert "nothing to append" in again.stderr
    assert "2 captures are in" in append(out, *pieces[:3]).stderr
    assert len(Dataset.open(out).manifest.inputs) == 3


@pytest.mark.slow
@pytest.mark.parametrize("first", [[0, 2], [2, 3]])
def test_a_late_file_is_put_in_order(pieces: list[Path], tmp_path: Path, first: list[int]) -> None:
    late = tmp_path / "late.kscope"
    assert append(late, *(pieces[number] for number in first)).exit_code == 0
    assert append(late, pieces[1]).exit_code == 0
    assert contents(late) == contents(at_once((pieces[number] for number in sorted([*first, 1])), tmp_path))


@pytest.mark.slow
def test_a_file_that_has_grown_stands_for_what_it_was(pieces: list[Path], tmp_path: Path) -> None:
    growing, out = tmp_path / "now.pcap", tmp_path / "grown.kscope"
    growing.write_bytes(pieces[0].read_bytes()[:-10_000])
    assert append(out, growing).exit_code == 0
    growing.write_bytes(pieces[0].read_bytes())
    assert append(out, growing, pieces[1]).exit_code == 0
    assert contents(out) == contents(at_once([growing, pieces[1]], tmp_path))


@pytest.mark.slow
def test_a_late_file_needs_all_captures(pieces: list[Path], tmp_path: Path) -> None:
    gone, out = tmp_path / "gone.pcap", tmp_path / "a.kscope"
    gone.write_bytes(pieces[1].read_bytes())
    assert append(out, gone).exit_code == 0
    before = contents(out)
    gone.unlink()
    refused = append(out, pieces[0])
    assert refused.exit_code == 2
    assert f"{gone} cannot be opened any more" in refused.stderr.replace("\n", " ")
    assert contents(out) == before
    assert append(out, pieces[2]).exit_code == 0  # this one follows, and needs no other


@pytest.mark.slow
def test_a_dataset_without_a_saved_scan_is_read_again(pieces: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "a.kscope"
    assert run("ingest", pieces[0], "-o", out).exit_code == 0
    assert Dataset.open(out).manifest.saved_scan == {}
    assert append(out, pieces[1]).exit_code == 0
    assert contents(out) == contents(at_once(pieces[:2], tmp_path))
    assert Dataset.open(out).manifest.saved_scan


@pytest.mark.slow
def test_what_other_sources_have_saved_is_read_again(
    pieces: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same version, as in a clone: their states may hold other columns."""
    out = tmp_path / "a.kscope"
    monkeypatch.setattr(run_module, "tool_version", lambda: "0.1.0+00000000")
    assert append(out, pieces[0]).exit_code == 0
    monkeypatch.undo()
    for state in out.rglob("*.zst"):
        state.write_bytes(b"")  # whoever goes on with it fails
    assert append(out, pieces[1]).exit_code == 0
    assert contents(out) == contents(at_once(pieces[:2], tmp_path))


@pytest.mark.slow
def test_capture_points_go_on_apart(pieces: list[Path], tmp_path: Path) -> None:
    """Another capture point of the same time is a series of its own, which later files continue."""
    other = in_pieces(CAPTURES / "pieces" / "path_cut.pcap.zst", tmp_path, 4)
    out = tmp_path / "a.kscope"
    for number in range(4):
        assert append(out, pieces[number], other[number]).exit_code == 0
    found, expected = contents(out)[0], contents(at_once([*pieces, *other], tmp_path))[0]
    assert found.keys() == expected.keys()
    assert len(found["requests"]) == len(expected["requests"]) > 500


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--append"], "give -o too"),
        (["--append", "--overwrite", "-o", "a.kscope"], "give only one of them"),
        (["--append", "--records", "-o", "there.kscope"], "append with the same options"),
    ],
)
def test_what_does_not_fit_is_said(
    pieces: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if "there.kscope" in arguments:
        assert append("there.kscope", pieces[0]).exit_code == 0
    result = run("ingest", pieces[1], *arguments)
    assert result.exit_code == 2
    assert said in result.stderr.replace("\n", " ")


@pytest.mark.slow
def test_the_saved_scan_lies_where_the_dataset_lies(
    pieces: list[Path], bucket: Callable[[], Any], tmp_path: Path
) -> None:
    uri = f"{bucket().uri}/a.kscope"
    for piece in pieces[:2]:
        done = append(uri, piece)
        assert done.exit_code == 0, done.output
    assert contents(uri) == contents(at_once(pieces[:2], tmp_path))


@pytest.mark.slow
def test_compact_joins_the_files_that_appends_leave(pieces: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "a.kscope"
    for piece in pieces[:3]:
        assert append(out, piece).exit_code == 0
    before = contents(out)
    messages = "messages/Fetch/request"
    assert len(Dataset.open(out).manifest.files[messages]) >= 3
    (out / "report.json").write_text("{}")
    assert "joined" in run("compact", out).stdout
    assert contents(out) == before
    assert len(Dataset.open(out).manifest.files[messages]) <= 2  # what later captures may replace stays apart
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert files == {*Dataset.open(out).manifest.paths, "_dataset.json", "report.json", "views.sql"}
    assert "no small files" in run("compact", out).stdout
    assert append(out, pieces[3]).exit_code == 0
    assert contents(out) == contents(at_once(pieces, tmp_path))


class _Runs:
    """Pickled, it names a function that would be called when it is loaded."""

    def __reduce__(self) -> Any:
        return print, ("run",)


def test_a_state_that_names_other_code_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.state").write_bytes(pickle.dumps(_Runs()))
    (tmp_path / "cut.state").write_bytes(pickle.dumps([1, 2, 3])[:-2])
    for name in ("bad.state", "cut.state"):
        with pytest.raises(UsageError, match=f"{name}: the saved state of the ingest is damaged"):
            load_state(tmp_path / name)
    assert capsys.readouterr().out == ""
    save_state(tmp_path / "good.state", {"n": 1})
    assert load_state(tmp_path / "good.state") == {"n": 1}
    assert (tmp_path / "good.state").stat().st_mode & 0o077 == 0
