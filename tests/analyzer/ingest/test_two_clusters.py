"""Two clusters in one capture, the same but for addresses and cluster id: every table holds the rows of both, as many
and the same as the capture of each has by itself."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest

FIXTURES = Path(__file__).parents[3] / "fixtures" / "captures" / "pieces"
KEYED = ("connections", "errors", "events", "partitions", "requests", "roles", "topology")


@pytest.fixture(scope="module")
def t(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    return load_module(Path(__file__).parents[2] / "two_clusters.py")


def clusters_of(t: ModuleType, dataset: Path, table: str) -> Counter[str]:
    return Counter(row["cluster"] for row in t.table_rows(dataset, table))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "jobs"), [("zk_lost_broker", 1), ("frozen_broker", 2)])
def test_every_table_holds_the_rows_of_both(
    name: str, jobs: int, t: ModuleType, ingested: Callable[..., Path], tmp_path: Path
) -> None:
    capture = FIXTURES / f"{name}.pcap.zst"
    original = ingested(capture)
    (cluster_id,) = ids = t.cluster_ids_of(original)
    pair = tmp_path / "pair.kscope"
    ingest([t.write_pair(capture, tmp_path / "pair.pcap", ids)], pair, IngestOptions(jobs=jobs))
    assert t.differences(original, pair, ids) == []
    assert t.cluster_ids_of(pair) == sorted([cluster_id, t.other_id(cluster_id)])
    for table in KEYED:
        n = len(t.table_rows(original, table))
        assert clusters_of(t, pair, table) == +Counter({cluster_id: n, t.other_id(cluster_id): n}), table


@pytest.mark.slow
def test_groups_of_connections_are_divided_by_cluster(
    t: ModuleType, ingested: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = FIXTURES / "zk_lost_broker.pcap.zst"
    original = ingested(capture)
    ids = t.cluster_ids_of(original)
    n = len(t.table_rows(original, "connections"))
    monkeypatch.setattr("kafkascope_analyzer.workers.worker.GROUP_CONNECTIONS", n)
    ingest([t.write_pair(capture, tmp_path / "pair.pcap", ids)], tmp_path / "pair", IngestOptions(jobs=1))
    files = {path.name[:10] for path in (tmp_path / "pair" / "connections").rglob("*.parquet")}
    assert files == {f"part-c{cluster}-g{group}" for cluster in (0, 1) for group in (0, 1)}
    assert t.differences(original, tmp_path / "pair", ids) == []


@pytest.mark.slow
def test_clients_that_talk_to_both_have_rows_in_both(
    t: ModuleType, ingested: Callable[..., Path], tmp_path: Path
) -> None:
    capture = FIXTURES / "frozen_broker.pcap.zst"
    original = ingested(capture)
    ids = t.cluster_ids_of(original)
    servers = {row["server_ip"] for row in t.table_rows(original, "connections")}
    clients = sorted({row["client_ip"] for row in t.table_rows(original, "connections")} - servers)
    ingest([t.write_pair(capture, tmp_path / "pair.pcap", ids, clients)], tmp_path / "pair", IngestOptions(jobs=1))
    assert t.differences(original, tmp_path / "pair", ids) == []
    found = {(row["client_ip"], row["cluster"]) for row in t.table_rows(tmp_path / "pair", "connections")}
    assert {(client, cluster) for client in clients for cluster in t.cluster_ids_of(tmp_path / "pair")} <= found


@pytest.mark.slow
def test_captures_of_two_clusters_are_appended(t: ModuleType, ingested: Callable[..., Path], tmp_path: Path) -> None:
    """The first half shows the cluster ids of some addresses only."""
    capture = FIXTURES / "frozen_broker.pcap.zst"
    ids = t.cluster_ids_of(ingested(capture))
    first, second = t.cut_in_two(t.write_pair(capture, tmp_path / "pair.pcap", ids), tmp_path)
    (tmp_path / "second").mkdir()
    pieces = [first, *t.cut_in_two(second, tmp_path / "second")]
    for piece in pieces:
        ingest([piece], tmp_path / "appended.kscope", IngestOptions(jobs=1, append=True))
    ingest(pieces, tmp_path / "once.kscope", IngestOptions(jobs=1))
    once, appended = (tmp_path / f"{name}.kscope" for name in ("once", "appended"))
    for table in t.tables_of(once):
        rows = [sorted(map(repr, t.table_rows(place, table))) for place in (once, appended)]
        assert rows[0] == rows[1], table
