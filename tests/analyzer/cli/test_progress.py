import io
import sys
import time

import pytest

from kafkascope_analyzer.cli.progress import Bar, bar, waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def bar_after(seconds: float, *, shown: bool = True) -> str:
    now = iter([0.0, seconds, seconds])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", Terminal())
        patch.setenv("TERM", "xterm")
        moved = Bar("reading captures", shown=shown, clock=lambda: next(now))
        moved.at(50, 100)
        moved.close()
        return sys.stderr.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_a_bar_appears_only_for_what_takes_long() -> None:
    assert bar_after(1.9) == ""
    assert "reading captures" in bar_after(2.1)
    assert bar_after(2.1, shown=False) == ""


def test_the_bar_and_the_spinner_name_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    moved = Bar("reading captures", shown=True, clock=iter([0.0, 3.0]).__next__)
    moved.at(100, 100)
    moved.name_stage("writing the tables")
    moved.close()
    with waiting("starting Spark", quiet=False) as name_stage:
        name_stage("Spark: findings")
        time.sleep(0.3)  # the spinner draws itself several times a second
    shown = sys.stderr.getvalue()  # type: ignore[attr-defined]
    for stage in ("reading captures", "writing the tables", "Spark: findings"):
        assert stage in shown


def test_nothing_moves_where_standard_error_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with bar("reading", quiet=False) as moved, waiting("Spark", quiet=False):
        moved.at(1, 2)
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]
