"""Analyzes captures and checks the first screen of their reports.

python -m scripts.check_first_screens TABLE.toml CAPTURES_DIRECTORY... [NAME...]   (without names: all that are there)

TABLE has for each capture, by the name of its file, the possible verdicts, and texts that must or must not be on the
first screen. Fails if one of these conditions does not hold, or if a directory has none of the captures. One process
makes the stories of all captures, with one Spark session for their findings: to start one for each capture, or to give
Spark the story job too, would take most of the time.
"""

import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.stories_in_process import write_stories_in_process

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.report.terminal.page import page_of
from kafkascope_analyzer.report.terminal.report import render
from kafkascope_spark.session import open_session

WIDTH = 80


def first_screen(capture: Path) -> tuple[str, str]:
    """The verdict, and the first screen without line breaks."""
    with tempfile.TemporaryDirectory() as work:
        dataset = Path(work) / "first_screen.kscope"
        ingest([capture], dataset)
        write_stories_in_process(dataset, open_session())
        report = report_model(Dataset.open(dataset))
    return report.headline.verdict, " ".join(page_of(render(report), WIDTH, ascii_only=False).split())


def faults(expected: dict[str, Any], verdict: str, screen: str) -> Iterator[str]:
    """The conditions that do not hold, in words."""
    if verdict not in expected["verdict"]:
        yield f"the verdict is {verdict}, and must be {' or '.join(expected['verdict'])}"
    yield from (f"must stand there: {text}" for text in expected.get("must", ()) if text not in screen)
    yield from (f"must not stand there: {text}" for text in expected.get("must_not", ()) if text in screen)


def main() -> int:
    table, *asked = sys.argv[1:]
    folders = [Path(one) for one in asked if Path(one).is_dir()]
    names = {one for one in asked if not Path(one).is_dir()}
    expected = tomllib.loads(Path(table).read_text("utf-8"))
    captures: dict[str, Path] = {}
    for folder in folders:
        found = {name: sorted(folder.glob(f"{name}.pcap*")) for name in sorted(names or expected)}
        captures |= {name: paths[0] for name, paths in found.items() if paths}
    if without := [folder for folder in folders if not any(path.parent == folder for path in captures.values())]:
        print(f"FAILED: none of the captures is in {', '.join(map(str, without))}")
        return 1
    if not captures:
        print(f"FAILED: no such directory or capture: {', '.join(asked)}")
        return 1
    failed = 0
    for name, capture in captures.items():
        verdict, screen = first_screen(capture)
        wrong = list(faults(expected[name], verdict, screen))
        print("\n".join([f"== {name}: {verdict}", *(f"FAILED {name}: {what}" for what in wrong)]), flush=True)
        failed += bool(wrong)
    print(f"================ {failed} failed ================")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
