import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, written_files
from kafkascope_analyzer.dataset.tables import REQUESTS, TCP_EVENTS
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.report.terminal.page import write_parts
from kafkascope_analyzer.report.terminal.report import render

Write = Callable[..., Path]


def run(*args: object) -> str:
    result = CliRunner().invoke(app, [str(a) for a in args])
    assert result.exit_code == 0, result.output
    return result.output


def rewrite(place: Path, changes: Callable[[dict[str, object]], dict[str, object]]) -> None:
    table = pq.read_table(place)
    rows = [changes(row) for row in table.to_pylist()]
    for path in place.glob("*.parquet"):
        path.unlink()
    pq.write_table(pa.Table.from_pylist(rows, table.schema), place / "part-0.parquet")
    relist(place)


def add(place: Path, table: object, **values: object) -> None:
    schema = table.schema  # type: ignore[attr-defined]
    place.mkdir(exist_ok=True)
    rows = [*(r for p in place.glob("*.parquet") for r in pq.read_table(p).to_pylist()), values]
    for path in place.glob("*.parquet"):
        path.unlink()
    pq.write_table(pa.Table.from_pylist(rows, pa.schema([f.with_nullable(True) for f in schema])), place / "p.parquet")
    relist(place)


def relist(table: Path) -> None:
    """Makes the manifest of the table's dataset list the files that are there now."""
    place = next(folder for folder in table.parents if (folder / MANIFEST).is_file())
    (place / MANIFEST).write_text(Dataset.open(place).manifest.with_files(written_files(place)).to_json())


@pytest.fixture
def proven(dataset: Write, small: ModuleType) -> Path:
    """The small dataset, with a request behind the error and a SYN-ACK behind a connection."""
    place = dataset()
    at = small.at
    add(
        place / "requests",
        REQUESTS,
        request_id="c0-77",
        conn_id="c0",
        api_name="Produce",
        api_key=0,
        ts_ns=at(4990),
        response_ns=at(5000),
        status="ok",
        capture_id=0,
        request_packet_no=501,
        response_packet_no=512,
    )
    event = {"conn_id": "c1", "ts_ns": at(5101), "capture_id": 0, "side": "server", "event": "syn_ack"}
    add(place / "tcp_events", TCP_EVENTS, **event, packet_no=600)

    def prove(row: dict[str, object]) -> dict[str, object]:
        if row["step"] in ("error", "retry"):
            return row | {"request_id": "c0-77", "conn_id": "c0"}
        return row | ({"step": "reconnect", "conn_id": "c1"} if row["step"] == "metadata" else {})

    rewrite(place / "stories" / "recovery_steps", prove)
    return place


def test_an_episode_in_sentences_with_its_packets_and_the_command_for_them(proven: Path) -> None:
    text = " ".join(run("explain", proven, "p1:r3", "--format", "plain").split())
    assert "got NOT_LEADER_OR_FOLLOWER on partition clicks-3" in text
    assert "[packets 501 and 512]: node 2" in text
    assert "answered Produce with NOT_LEADER_OR_FOLLOWER" in text
    assert "the client paused 1.50 ms" in text
    assert "[packet 600]: it connected to node 2" in text
    assert "Recovered at node 2 (before: node 1) after 103 ms" in text
    assert "one of 4 recoveries of one cause (move), which affected 1 client (svc): 4 partitions." in text
    assert text.endswith(f"kafkascope cut {proven} --recovery p1:r3 -o p1:r3.pcapng wireshark p1:r3.pcapng")


def test_a_cause_is_what_its_recoveries_have_in_common_and_the_worst_of_them(proven: Path) -> None:
    text = " ".join(run("explain", proven, "move", "--format", "plain").split())
    assert "(00:05.000 into the capture): 4 recoveries of one cause began; the last of them ended 103 ms later." in text
    assert "It affected 1 client (svc): 4 partitions." in text
    assert "Outcomes: 4 recovered." in text
    assert "The worst of them:" in text
    assert "partition clicks-3" in text


def test_the_same_as_json(proven: Path) -> None:
    shown = json.loads(run("explain", proven, "p1:r3", "--format", "json"))
    assert shown["recovery"]["steps"][0]["packets"] == [501, 512]
    assert shown["cause"]["n_recoveries"] == 4
    assert shown["cut"] == f"kafkascope cut {proven} --recovery p1:r3 -o p1:r3.pcapng"
    assert any("Recovered" in sentence for sentence in shown["sentences"])


def test_an_episode_as_a_waterfall(proven: Path) -> None:
    lines = run("timeline", proven, "--recovery", "p1:r3", "--format", "plain").splitlines()
    assert all(len(line) <= 80 for line in lines)
    (error,) = [line for line in lines if "error Produce" in line]
    (success,) = [line for line in lines if "success" in line and "+" in line]
    assert error.index("x") < success.rindex(" o ")
    assert any(line.split()[0] == "+101" for line in lines if line.strip().startswith("+"))


def test_hostile_names_reach_no_terminal(dataset: Write, tmp_path: Path) -> None:
    place = dataset(text="\x1b[31m\u202e")
    for args in (("explain", place, "p1:r3"), ("explain", place, "move"), ("timeline", place, "--recovery", "p1:r3")):
        text = run(*args)
        assert "\x1b[31m" not in text
        assert "\u202e" not in text
    with (tmp_path / "page").open("w", encoding="utf-8") as page:
        write_parts(render(report_model(Dataset.open(place))), page, plain=False)
    assert "\u202e" not in (tmp_path / "page").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["explain", "rec-none"], "has nothing called rec-none; it has, for example,"),
        (["timeline", "--recovery", "rec-none"], "with the id rec-none; it has, for example,"),
    ],
)
def test_an_unknown_id_is_said_with_some_that_are_there(dataset: Write, args: list[str], why: str) -> None:
    command, *rest = args
    result = CliRunner().invoke(app, [command, str(dataset()), *rest])
    assert result.exit_code == 2
    said = " ".join(result.output.split())
    assert why in said
    assert "recovery p1:r0" in said
    assert len(result.output.splitlines()) == 1


def test_without_stories_it_says_how_to_make_them(dataset: Write) -> None:
    result = CliRunner().invoke(app, ["explain", str(dataset(stories=False)), "rec-1"])
    assert result.exit_code == 2
    assert "kafkascope stories" in result.output


@pytest.fixture
def numbered(dataset: Write) -> Path:
    """Episodes with ids as analyze gives them: two begin alike."""
    place = dataset()
    ids = iter(["rec-3fa2b7c1d0e94f58", "rec-3fa2b7ff00112233", "rec-77aa000000000001", "rec-88bb000000000001"])
    kept: dict[object, str] = {}

    def name(row: dict[str, object]) -> dict[str, object]:
        if row["recovery_id"] not in kept:
            kept[row["recovery_id"]] = next(ids, f"rec-{len(kept):016x}")
        return row | {"recovery_id": kept[row["recovery_id"]]}

    for table in ("recoveries", "recovery_steps"):
        rewrite(place / "stories" / table, name)
    return place


@pytest.mark.parametrize("name", ["rec-3fa2b7c1d0e94f58", "rec-3fa2b7c", "3fa2b7c"])
@pytest.mark.parametrize("command", [["explain"], ["timeline", "--recovery"]])
def test_the_beginning_of_an_id_is_enough(numbered: Path, command: list[str], name: str) -> None:
    whole = run(command[0], numbered, *command[1:], "rec-3fa2b7c1d0e94f58", "--format", "plain")
    assert run(command[0], numbered, *command[1:], name, "--format", "plain") == whole


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("rec-3fa2", "rec-3fa2 is ambiguous: 2 ids begin so (rec-3fa2b7c1d0e94f58, rec-3fa2b7ff00112233)"),
        ("3fa2b7", "3fa2b7 is ambiguous: 2 ids begin so"),
        ("77a", "has nothing called 77a; it has, for example,"),
        ("rec-", "has nothing called rec-; it has, for example,"),
    ],
)
def test_what_begins_several_ids_or_is_too_short_is_said(numbered: Path, name: str, why: str) -> None:
    result = CliRunner().invoke(app, ["explain", str(numbered), name])
    assert result.exit_code == 2
    assert why in " ".join(result.output.split())
