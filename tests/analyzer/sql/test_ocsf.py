"""The view `ocsf_detection_findings`, against what OCSF 1.3 says of the class Detection Finding."""

from pathlib import Path

import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.sql.database import Database

REQUIRED = {
    *("activity_id", "category_uid", "class_uid", "finding_info", "metadata", "severity_id", "time", "type_uid"),
}
SEVERITIES = {"error": 4, "warning": 3, "info": 1}
"""severity_id: 1 Informational, 3 Medium, 4 High."""


def test_incidents_and_findings_are_detection_findings(leader_move: Path) -> None:
    with Database(Dataset.open(leader_move)) as database:
        names, found = database.query("from ocsf_detection_findings")
        rows = [dict(zip(names, row, strict=True)) for row in found]
    assert not REQUIRED - set(names)
    incidents, findings = (ds.dataset(leader_move / "stories" / t).to_table() for t in ("incidents", "findings"))
    assert sorted(row["finding_info"]["uid"] for row in rows) == sorted(
        [*incidents["incident_id"].to_pylist(), *findings["finding_id"].to_pylist()]
    )
    for row in rows:
        assert (row["class_uid"], row["category_uid"]) == (2004, 2)
        assert row["type_uid"] == row["class_uid"] * 100 + row["activity_id"]
        assert row["severity_id"] == SEVERITIES[row["severity"]]
        assert row["metadata"]["version"] == "1.3.0"
        assert row["finding_info"]["title"]
        assert row["message"].endswith(".")
        assert row["remediation"] is None or row["remediation"]["desc"]
        assert row["start_time"] <= row["time"] == row["end_time"]
        assert 1795235314577 <= row["time"] <= 1795235349290  # milliseconds, within the capture
