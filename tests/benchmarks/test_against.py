import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks import against
from benchmarks.drawing import charts
from benchmarks.measuring import run

ROOT = Path(__file__).parents[2]


def test_memory_of_workers_is_counted(tmp_path: Path) -> None:
    holds = "import time; x = bytearray(60_000_000); x[::4096] = bytes(len(x[::4096])); time.sleep(1.5)"
    program = (
        f"import subprocess, sys; held = [subprocess.Popen([sys.executable, '-c', {holds!r}]) for _ in range(2)]; "
        "[process.wait() for process in held]"
    )
    done = run([sys.executable, "-c", program], tmp_path)
    assert done.exit_code == 0
    assert done.peak_rss_mb > 60
    assert done.peak_all_mb > 110
    assert done.wall_s > 1.5


def test_a_program_that_fails_is_told(tmp_path: Path) -> None:
    done = run([sys.executable, "-c", "import sys; print('so it goes', file=sys.stderr); sys.exit(3)"], tmp_path)
    assert (done.exit_code, done.stderr.strip()) == (3, "so it goes")


def test_charts_are_svg_with_a_line_a_tool() -> None:
    lines = {"tshark": [(100, 3.0), (1000, 31.0)], "kafkascope": [(100, 0.2), (1000, 1.1)]}
    text = charts(
        [("time", "s", {"small": lines, "bulk": {"kafkascope": [(100, 0)]}}), ("memory", "MB", {"small": lines})]
    )
    root = ElementTree.fromstring(text)
    drawn = root.findall(".//{*}polyline")
    assert len(drawn) == 4
    first, second = ([tuple(map(float, p.split(","))) for p in line.attrib["points"].split()] for line in drawn[:2])
    assert first[0][0] < first[1][0]
    assert first[0][1] > first[1][1] > 0, "more is higher up"
    assert second[0][1] > first[0][1], "less is further down"


@pytest.mark.lab
def test_one_command_measures_what_is_there(tmp_path: Path) -> None:
    """With kafkascope alone on the path: the others are said to be missing."""
    args = ["--kinds", "short", "--sizes", "1", "--runs", "1", "--work", str(tmp_path), "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.against", *args],
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "tshark is not installed" in done.stderr
    assert "tcpdump is not installed" in done.stderr
    (result,) = json.loads((tmp_path / "out" / "results.json").read_text())["results"]
    assert (result["tool"], result["wrong"], len(result["runs"])) == ("kafkascope", "", 1)
    assert result["tiles"] > 1
    assert result["mb"] == pytest.approx(1, rel=0.2)
    assert "| short | 1 |" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["growth.svg", "results.json", "results.md"]


def test_tshark_is_asked_for_the_five_fields() -> None:
    program = against.command("tshark", Path("x.pcap"), "")
    assert [program[i + 1] for i, part in enumerate(program) if part == "-e"] == list(against.FIELDS)
    assert "tcp.port==29092,kafka" in program
    assert against.command("tcpdump", Path("x.pcap"), "") == ["tcpdump", "-r", "x.pcap", "-w", "/dev/null"]
    assert against.command("kafkascope", Path("x.pcap"), "--jobs 1")[-2:] == ["--jobs", "1"]


@pytest.mark.parametrize("args", [["--kinds", "huge"], ["--runs", "0"], ["--sizes", "0"]])
def test_wrong_usage_is_said(args: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["against", *args])
    with pytest.raises(SystemExit, match="2"):
        against.main()
