"""The ratio of appends to one run, with commands that take known times."""

from pathlib import Path
from typing import Any

import pytest
from benchmarks import appends

SECONDS = {"ingest": 1.0, "stories": 4.0, "report": 0.5, "analyze": 5.0}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were measured. Each one takes as many seconds more as there were commands of its name."""
    commands: list[list[str]] = []

    def measured(command: list[str]) -> dict[str, Any]:
        given = command[len(appends.KAFKASCOPE) :]
        earlier = sum(other[0] == given[0] for other in commands)
        commands.append(given)
        return {"cpu_s": SECONDS[given[0]] + earlier, "exit_code": 0}

    monkeypatch.setattr(appends, "measured", measured)
    return commands


def test_appends_are_compared_with_one_run(ran: list[list[str]], tmp_path: Path) -> None:
    captures = [Path("a.pcap"), Path("b.pcap")]
    found = appends.compare(captures, tmp_path, appends.ANALYZE)
    assert found == pytest.approx({"whole_s": 5, "appends_s": 13, "ratio": 2.6, "more_each_hour_s": 1})
    assert [[word for word in command if word.endswith(".pcap")] for command in ran] == [
        ["a.pcap", "b.pcap"],
        ["a.pcap"],
        ["b.pcap"],
    ]
    assert ran[1][ran[1].index("-o") + 1] == ran[2][ran[2].index("-o") + 1] != ran[0][ran[0].index("-o") + 1]


def test_stages_are_measured_one_by_one(ran: list[list[str]], tmp_path: Path) -> None:
    found = appends.compare([Path("a.pcap")], tmp_path, appends.STAGES)
    assert [command[0] for command in ran] == [*appends.STAGES, *appends.STAGES]
    assert [("--append" in command) for command in ran] == [True, False, False] * 2
    assert found == pytest.approx({"whole_s": 5.5, "appends_s": 8.5, "ratio": 8.5 / 5.5, "more_each_hour_s": 0})
