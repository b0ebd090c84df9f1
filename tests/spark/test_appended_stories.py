"""Stories and findings of captures that are appended one after the other are those of one run over all of them."""

from pathlib import Path
from typing import Any

import pytest
from scripts.stories_in_process import write_stories_in_process
from tests.analyzer.ingest.test_append import append, at_once, contents, in_pieces

FIXTURES = Path(__file__).parents[2] / "fixtures"
PIECES = 3


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    "capture",
    [
        "findings/lost_offsets",
        *(pytest.param(name, marks=pytest.mark.lab) for name in ("captures/leader_move", "findings/storm")),
    ],
)
def test_appended_captures_give_the_rows_of_one_run(spark: Any, tmp_path: Path, capture: str) -> None:
    """All tables: those of ingest, the stories and the findings. The runs in between have stories, too, so that the
    last run continues from what they have saved."""
    pieces = in_pieces(FIXTURES / f"{capture}.pcap.zst", tmp_path, PIECES)
    grown = tmp_path / "grown.kscope"
    for piece in pieces:
        assert append(grown, piece).exit_code == 0
        if piece is not pieces[0]:
            write_stories_in_process(grown, spark)
    whole = at_once(pieces, tmp_path)
    write_stories_in_process(whole, spark)
    (grown_rows, grown_rest), (whole_rows, whole_rest) = contents(grown), contents(whole)
    assert grown_rows.keys() == whole_rows.keys()
    assert whole_rows["stories/findings"]
    assert [name for name in whole_rows if grown_rows[name] != whole_rows[name]] == []
    assert grown_rest == whole_rest
