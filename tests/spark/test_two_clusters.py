"""Two clusters in one capture, the same but for addresses and cluster id: every table of the stories and the findings
holds the rows of both, as the capture of each has them by itself, and no report mixes them."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.report.model.clusters import ClusterReports, cluster_named, report_of
from kafkascope_analyzer.report.model.report import Report
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.write_stories import write_stories

pytestmark = pytest.mark.spark
CAPTURE = Path(__file__).parents[2] / "fixtures" / "captures" / "pieces" / "frozen_broker.pcap.zst"


@pytest.fixture(scope="module")
def t(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    return load_module(Path(__file__).parents[1] / "two_clusters.py")


@pytest.fixture(scope="module")
def made(t: ModuleType, tmp_path_factory: pytest.TempPathFactory, spark: Any) -> tuple[Path, Path]:
    """The dataset of a capture, and that of it and its second cluster."""
    folder = tmp_path_factory.mktemp("clusters")
    original, pair = folder / "original.kscope", folder / "pair.kscope"
    ingest([CAPTURE], original, IngestOptions(jobs=1))
    write_stories(original)
    ingest([t.write_pair(CAPTURE, folder / "pair.pcap", t.cluster_ids_of(original))], pair, IngestOptions(jobs=1))
    write_stories(pair)
    return original, pair


def test_every_table_holds_the_rows_of_both(t: ModuleType, made: tuple[Path, Path]) -> None:
    original, pair = made
    assert t.differences(original, pair, t.cluster_ids_of(original)) == []
    assert {row["cluster"] for row in t.table_rows(pair, "stories/incidents")} == set(t.cluster_ids_of(pair))


def test_ids_of_one_cluster_are_no_others(t: ModuleType, made: tuple[Path, Path]) -> None:
    original, pair = made
    ids = [row["incident_id"] for row in t.table_rows(pair, "stories/incidents")]
    assert len(set(ids)) == len(ids)
    known = {row["incident_id"] for row in t.table_rows(pair, "stories/incidents")}
    assert {row["incident_id"] for row in t.table_rows(pair, "stories/stalls")} <= known | {None}
    assert all(row["cluster"] for row in t.table_rows(original, "stories/incidents"))


def test_each_cluster_has_its_report(t: ModuleType, made: tuple[Path, Path]) -> None:
    original, pair = made
    alone, both = report_of(Dataset.open(original)), report_of(Dataset.open(pair))
    assert isinstance(alone, Report)
    assert isinstance(both, ClusterReports)
    assert [each.cluster for each in both.clusters] == t.cluster_ids_of(pair)
    for overview, report in zip(both.clusters, both.reports, strict=True):
        assert (overview.n_incidents, overview.verdict) == (alone.incidents.n, alone.headline.verdict)
        assert report.connections.n == alone.connections.n
        assert report.cluster.n_brokers == alone.cluster.n_brokers
        assert [api.n for api in report.apis] == [api.n for api in alone.apis]
        assert report.clients.n == alone.clients.n
        assert report.unread == alone.unread
        assert report.capture.ledger == alone.capture.ledger
        assert report.capture.n_packets == 2 * alone.capture.n_packets


def test_each_form_names_its_cluster(made: tuple[Path, Path], tmp_path: Path) -> None:
    runner = CliRunner()
    forms = ["--html", str(tmp_path / "page.html"), "--perfetto", str(tmp_path / "page.trace")]
    assert runner.invoke(app, ["report", str(made[1]), *forms]).exit_code == 0
    for number, name in enumerate(Dataset.open(made[1]).clusters, 1):
        cluster = f"cluster {name}, {number} of 2"
        page = (tmp_path / f"page-{name}.html").read_text()
        assert f"<title>pair.pcap: {cluster}</title>" in page
        assert cluster.encode() in (tmp_path / f"page-{name}.trace").read_bytes()
        text = runner.invoke(app, ["report", str(made[1]), "--cluster", name, "--format", "plain"]).stdout
        assert text.lstrip().startswith(f"Cluster {name}, {number} of 2")
        assert "packets in the whole capture" in text


def test_a_cluster_is_named_by_name_or_address(t: ModuleType, made: tuple[Path, Path]) -> None:
    pair = Dataset.open(made[1])
    for row in t.table_rows(made[1], "clusters"):
        for name in (row["cluster"], row["servers"][0], row["servers"][0].rpartition(":")[0]):
            assert cluster_named(pair, name) == row["cluster"]
    with pytest.raises(UsageError, match="has no such cluster"):
        cluster_named(pair, "no such cluster")
