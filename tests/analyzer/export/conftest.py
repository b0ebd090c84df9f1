import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "fixtures" / "captures"


@pytest.fixture(scope="session")
def leader_move(told_leader_move: Path) -> Path:
    """A capture of a real cluster, with stories; of messages Metadata alone."""
    return told_leader_move


@pytest.fixture(scope="session")
def log() -> list[dict[str, Any]]:
    """The brokers' log of requests, as long as the capture of leader_move."""
    capture = json.loads((CAPTURES / "leader_move.truth.json").read_text())["captures"][0]
    with gzip.open(CAPTURES / "leader_move.requests.jsonl.gz", "rt") as file:
        lines = [json.loads(line) for line in file]
    return [
        line for line in lines if capture["first_packet_ns"] / 1e6 <= line["ts_ms"] <= capture["last_packet_ns"] / 1e6
    ]


def exported(*words: str) -> str:
    """What `kafkascope export` writes."""
    result = CliRunner().invoke(app, ["export", *words])
    assert result.exit_code == 0, result.output
    return result.stdout
