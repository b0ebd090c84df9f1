"""Signs that add up or count rows: what they say of a table of three requests."""

import pathlib

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.tables import ERRORS, REQUESTS
from kafkascope_spark.findings.signs import Sign, Signs

ROWS = [
    {"conn_id": "c1", "record_bytes": 400, "fetch_session_epoch": 0},
    {"conn_id": "c1", "record_bytes": None, "fetch_session_epoch": 0},
    {"conn_id": "c2", "record_bytes": 600, "fetch_session_epoch": 0},
]
EPOCH_0 = pc.field("fetch_session_epoch") == 0


@pytest.mark.parametrize(
    ("sign", "shown"),
    [
        (Sign(REQUESTS, "record_bytes", total=999), True),
        (Sign(REQUESTS, "record_bytes", total=1_000), False),
        (Sign(REQUESTS, where=EPOCH_0), True),
        (Sign(REQUESTS, where=~EPOCH_0), False),
        (Sign(REQUESTS, where=EPOCH_0, times=2), True),
        (Sign(REQUESTS, where=EPOCH_0, times=3), False),
        (Sign(REQUESTS, where=EPOCH_0 & (pc.field("conn_id") == "c2"), times=2), False),
        (Sign(ERRORS, where=EPOCH_0), False),
    ],
)
def test_shows(tmp_path: pathlib.Path, sign: Sign, shown: bool) -> None:
    (tmp_path / "requests").mkdir()
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "requests" / "part-0.parquet")
    assert Signs(tmp_path).shows_any([sign]) is shown
