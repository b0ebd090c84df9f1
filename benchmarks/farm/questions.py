"""Commands that read a dataset, with random choices of a run: views, ids, saved questions, selections."""

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from benchmarks.farm.commands import DONE, NO_KAFKA, UNREADABLE, USAGE, run_command

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.incidents.preconditions import why_no_kafka
from kafkascope_analyzer.sql.saved import questions as saved_questions

_ID_TABLES = {
    "incidents": "incident_id",
    "stalls": "stall_id",
    "findings": "finding_id",
    "recoveries": "recovery_id",
    "startups": "startup_id",
    "clients": "client_instance_id",
}
_CUT_BY = {"incidents": "--incident", "stalls": "--stall", "findings": "--finding", "recoveries": "--recovery"}
FORMATS = ("rich", "plain", "json")
SQL_FORMATS = ("table", "plain", "csv", "json", "jsonl", "markdown", "parquet")


def ask(r: random.Random, dataset: Path, capture: Path) -> None:
    """Runs a few of the commands."""
    place, output = str(dataset), dataset.with_name("question.txt")
    for question in r.sample(QUESTIONS, 3):
        for arguments, allowed in question(r, dataset, capture):
            target = output.with_name(f"{arguments[0]}.txt")
            run_command([part.replace("DATASET", place) for part in arguments], target, allowed)


def _end(dataset: Path) -> int:
    """The exit code of commands that show a whole dataset."""
    return DONE if why_no_kafka(Dataset.open(dataset)) is None else NO_KAFKA


def _timeline(r: random.Random, dataset: Path, capture: Path) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    yield ["timeline", "DATASET", "--format", r.choice(FORMATS)], (_end(dataset),)
    yield ["timeline", "DATASET", "--start", "--format", r.choice(FORMATS)], (_end(dataset), USAGE)


def _explain(r: random.Random, dataset: Path, capture: Path) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    for table in r.sample(sorted(_ID_TABLES), 3):
        for each in _ids(dataset, table)[:2]:
            yield ["explain", "DATASET", each, "--format", r.choice(FORMATS)], (DONE, USAGE)


def _sql(r: random.Random, dataset: Path, capture: Path) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    for name in r.sample(_saved_names(), 3):
        yield ["sql", "DATASET", "--run", name, "--format", r.choice(SQL_FORMATS)], (DONE,)
    table = r.choice(("requests", "connections", "events", "partitions", "topology", "undecoded", "clients", "dns"))
    yield ["sql", "DATASET", f"select * from {table}", "--format", r.choice(SQL_FORMATS)], (DONE,)


def _views(r: random.Random, dataset: Path, capture: Path) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    for name in ("info", "topology"):
        yield [name, "DATASET", "--format", r.choice(FORMATS)], (_end(dataset),)
    yield ["info", str(capture), "--format", r.choice(FORMATS)], (DONE, UNREADABLE)
    yield ["report", "DATASET", "--all", "--format", r.choice(FORMATS)], (_end(dataset),)
    yield ["diff", "DATASET", "DATASET", "--format", r.choice(FORMATS)], (DONE,)


def _cut(r: random.Random, dataset: Path, capture: Path) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    selection = [r.choice(("--whole-connections", "--comments")), *_selection(r, dataset)]
    piece = piece_of(dataset)
    yield ["cut", str(capture), "--dataset", "DATASET", "-o", str(piece), "--overwrite", *selection], (DONE, USAGE)
    if piece.exists():
        yield ["info", str(piece)], (DONE,)


def _compact(r: random.Random, dataset: Path, capture: Path) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    yield ["compact", "DATASET"], (DONE,)
    yield ["report", "DATASET", "--json", "-"], (_end(dataset),)


def piece_of(dataset: Path) -> Path:
    """Where pieces of the capture are written."""
    return dataset.with_name("piece.pcapng")


QUESTIONS = (_timeline, _explain, _sql, _views, _cut, _compact)


def _selection(r: random.Random, dataset: Path) -> list[str]:
    table = r.choice(sorted(_CUT_BY))
    ids = _ids(dataset, table)
    if ids and r.random() < 0.5:
        return [_CUT_BY[table], r.choice(ids)]
    return r.choice(
        (["--error", "any"], ["--api", "Metadata"], ["--packets", "1-50"], ["--from", "+1s"], ["--client", "x"])
    )


def _ids(dataset: Path, table: str) -> list[str]:
    """Ids of a table of stories, as far as it has rows."""
    place = dataset / "stories" / table
    if not place.exists():
        return []
    column: list[Any] = pq.read_table(place, columns=[_ID_TABLES[table]])[_ID_TABLES[table]].to_pylist()
    return [each for each in column if each]


@cache
def _saved_names() -> list[str]:
    return sorted(question.name for question in saved_questions())
