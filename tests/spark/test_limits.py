"""Every number of every message at the limits of its type, through all of `analyze` and the commands behind it."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.sql.database import Database
from kafkascope_analyzer.sql.saved import questions

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PEERS = Path(__file__).parents[1] / "peers"


def run(*arguments):
    ended = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert ended.exit_code == 0, (arguments[0], ended.output[-2000:], ended.exception)
    return ended.stdout


@pytest.fixture(scope="module")
def analyzed(spark, load_module, tmp_path_factory):
    """The dataset of a capture of such messages."""
    w, x = (load_module(PEERS / name) for name in ("wire.py", "extreme_messages.py"))
    limits = (x.LIMITS["lowest"], x.LIMITS["highest"])
    talks = x.talks(w, limits, ((b"t", False), (b"9" * 40, True)))
    folder = tmp_path_factory.mktemp("limits")
    packets = sorted((packet for talk in talks for packet in talk.packets), key=lambda packet: packet[0])
    capture = w.write_pcap(folder / "crafted.pcap", packets)
    forms = [part for form in ("html", "markdown", "perfetto") for part in (f"--{form}", folder / f"report.{form}")]
    run("analyze", capture, "-o", folder / "out.kscope", "-q", *forms)
    return folder / "out.kscope"


def test_no_part_fails(analyzed):
    """The messages are of two clusters: their ids are texts at limits too."""
    reports = json.loads((analyzed / "report.json").read_text())["reports"]
    assert [report["failed_parts"] for report in reports] == [[], []]


def test_no_name_is_made_of_a_number_that_is_none(analyzed):
    transactions = pq.read_table(analyzed / "stories" / "transactions").to_pylist()
    assert any(row["partitions"] for row in transactions)
    for table in (analyzed / "stories").iterdir():
        assert "-None" not in repr(pq.read_table(table).to_pylist()), table.name


def test_commands_take_them(analyzed):
    for cluster in Dataset.open(analyzed).clusters:
        run("timeline", analyzed, "--cluster", cluster)
        run("timeline", analyzed, "--cluster", cluster, "--start")
    client = pq.read_table(analyzed / "stories" / "clients")["client_instance_id"][0].as_py()
    run("explain", analyzed, client)
    with Database(Dataset.open(analyzed)) as database:
        for question in questions():
            _, rows = database.query(question.text)
            list(rows)
