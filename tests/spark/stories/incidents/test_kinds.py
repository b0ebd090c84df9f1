"""The kinds of incidents: each is one module, which says everything about the kind."""

import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.spark.stories.incidents.advised import advised

from kafkascope_parsers.error_facts import ERROR_CODES
from kafkascope_spark.stories.incidents.kind_names import CLIENT_FAULTS, INCIDENT_KINDS
from kafkascope_spark.stories.incidents.kinds import KIND_OF_ERROR, KIND_OF_STATE, KINDS, names_of, words_of
from kafkascope_spark.stories.tables import BROKER_STATES, INCIDENTS

from .conftest import MakeRow

ROOT = Path(__file__).parents[4]


def test_kinds_are_listed_once_and_are_the_values_of_the_column() -> None:
    assert tuple(kind.name for kind in KINDS) == INCIDENT_KINDS == INCIDENTS.column("kind").values
    assert len(set(INCIDENT_KINDS)) == len(INCIDENT_KINDS)
    assert INCIDENTS.column("client_fault").values == tuple(CLIENT_FAULTS)
    files = {path.stem for path in (ROOT / "spark/kafkascope_spark/stories/incidents/kinds").glob("*.py")}
    assert files == {*INCIDENT_KINDS, "__init__"}


def test_no_error_and_no_state_shows_two_kinds() -> None:
    """Else the order of the kinds would decide."""
    shown = Counter(each for kind in KINDS for each in (*kind.errors, *kind.states))
    assert set(shown.values()) == {1}
    assert KIND_OF_ERROR.keys() <= {error.name for error in ERROR_CODES}
    assert KIND_OF_STATE.keys() <= set(BROKER_STATES.column("state").values)


def test_reports_have_words_for_each_kind_and_for_those_that_they_do_not_know() -> None:
    assert words_of("leader_move") == "leader moved"
    assert words_of("leader_move", 2) == "leader moves"
    assert words_of("quota", 2) == "quota exceeded"
    assert words_of("of a later release") == "unexplained"
    assert len({kind.words for kind in KINDS}) == len(KINDS)


def test_flags_name_kinds() -> None:
    assert names_of(lambda kind: kind.is_move) == {"leader_move", "coordinator_move"}
    assert names_of(lambda kind: kind.of_broker and not kind.by_session) == {
        *("broker_down", "broker_restarted", "broker_silent", "broker_frozen", "broker_slow"),
        *("broker_lossy", "broker_delayed"),
        *("controller_down", "controller_unresponsive"),
    }


PLUG_IN = """\
'''A disk of a broker that failed.'''

from kafkascope_spark.stories.incidents.actions import brokers
from kafkascope_spark.stories.incidents.failures.failure import Kind

DISK_FAILED = Kind(
    "disk_failed",
    "disk failed",
    plural="disks failed",
    sentence=lambda failure, times: f"A disk failed under {failure.subject} {times.of(failure)}",
    advice=lambda failure, observed: [brokers(f"Look at the disk of {failure.subject}.")],
    known="error codes",
    place="broker",
    errors=frozenset({"OFFSET_MOVED_TO_TIERED_STORAGE"}),
    by_topic=True,
)
"""
PROGRAM = """
import json, pickle, sys, types
import kafkascope_spark.stories.incidents.kind_names as listed

listed.INCIDENT_KINDS += ("disk_failed",)
plug_in = types.ModuleType("kafkascope_spark.stories.incidents.kinds.disk_failed")
exec(sys.argv[1], plug_in.__dict__)
sys.modules[plug_in.__name__] = plug_in

from typer.testing import CliRunner
from kafkascope_analyzer.cli.app import app
from kafkascope_spark.stories.tables import INCIDENTS
from kafkascope_analyzer.report.model.incidents.summary import title_of
from kafkascope_spark.stories.incidents.kinds import words_of
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_analyzer.dataset.row_types import batch_of_rows
from reference.tables import tables_page

machine = Incidents(0)
machine.take(pickle.load(sys.stdin.buffer))
(row,) = (row for row in machine.finish() if row.TABLE is INCIDENTS)
(written,) = batch_of_rows(type(row), [row]).to_pylist()
page = tables_page().partition("## stories/incidents")[2]
print(json.dumps({name: written[name] for name in ("kind", "subject", "sentence", "actions", "how_known")}))
print(json.dumps([title_of(row), words_of("disk_failed", 3), "disk_failed" in page]))
print(json.dumps(CliRunner().invoke(app, ["rules", "disk_failed"]).stdout))
"""


@pytest.mark.slow
def test_a_kind_is_its_module_and_its_name_in_the_list(recovery: MakeRow) -> None:
    """Another process has a module more, and a name more in the list: rows, reports and the reference page show it."""
    paths = os.pathsep.join([*(str(ROOT / name) for name in ("parsers", "analyzer", "spark", "scripts"))])
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, PLUG_IN],
        input=pickle.dumps(recovery("OFFSET_MOVED_TO_TIERED_STORAGE", 1, 2, 5, 8)),
        capture_output=True,
        env=os.environ | {"PYTHONPATH": paths},
        check=False,
    )
    assert not ran.returncode, ran.stderr.decode()
    row, words, page = map(json.loads, ran.stdout.decode().splitlines())
    assert (row["kind"], row["subject"], row["how_known"]) == ("disk_failed", "orders", "error codes")
    assert row["sentence"].startswith("A disk failed under orders from 00:05.000 (")
    assert advised(row) == "Look at the disk of orders."
    assert words == ["disk failed: orders", "disks failed", True]
    assert page.startswith("disk_failed (incident): disk failed\n\n  A disk of a broker that failed.\n")


@pytest.mark.parametrize("name", ["disk_failed", "nothing"])
def test_a_name_without_its_module_is_an_error(name: str) -> None:
    program = (
        "import kafkascope_spark.stories.incidents.kind_names as listed\n"
        f"listed.INCIDENT_KINDS += ({name!r},)\n"
        "import kafkascope_spark.stories.incidents.kinds"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert f"No module named 'kafkascope_spark.stories.incidents.kinds.{name}'" in ran.stderr
