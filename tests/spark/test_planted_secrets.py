"""No story, and no report of stories, has a secret that is planted in the capture (tests/planted.py)."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_spark.write_stories import write_stories

TESTS = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.spark
def test_no_story_and_no_report_of_stories_has_it(
    spark: object, load_module: Callable[[Path], ModuleType], tmp_path: Path
) -> None:
    planted, wire = load_module(TESTS / "planted.py"), load_module(TESTS / "peers" / "wire.py")
    packets = sorted((p for c in planted.conversations(wire) for p in c.packets), key=lambda p: p[0])
    dataset = tmp_path / "planted.kscope"
    ingest([wire.write_pcap(tmp_path / "planted.pcap", packets)], dataset)
    write_stories(dataset)
    found = {str(file): hits for file, rows in planted.tables(dataset) if (hits := planted.leaks(repr(rows).encode()))}
    assert found == {}
    assert any("findings" in file.parts for file, _ in planted.tables(dataset))
    for form in ("--json", "--html", "--markdown", "--perfetto"):
        out = tmp_path / form.strip("-")
        result = CliRunner().invoke(app, ["report", str(dataset), form, str(out)])
        assert result.exit_code == 0, result.output
        assert planted.leaks(result.output.encode() + out.read_bytes()) == []
    assert planted.leaks(CliRunner().invoke(app, ["report", str(dataset)]).output.encode()) == []
