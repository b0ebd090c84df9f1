"""Releases of brokers over time: upgrades in the order of restarts, mixed releases, and the mode of the cluster."""

import pyarrow as pa
import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.broker_releases import MIGRATION, cluster_releases, upgrades
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, Manifest, written_files
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_parsers.broker_release import KRAFT_MODE, ZOOKEEPER_MODE
from kafkascope_parsers.schema import api_name
from kafkascope_parsers.schema.releases import api_releases

S = 1_000_000_000


def offer(release, *listeners):
    """What brokers of a release answer on these listeners, as `connections` has it."""
    spoken = {
        key: api.spoken[release]
        for key, api in api_releases().items()
        if set(listeners) & set(api.listeners) and api.spoken[release].low <= api.spoken[release].high
    }
    return [f"{api_name(key)}:{versions.low}-{versions.high}" for key, versions in spoken.items()]


def connection(second, node, offered, port=9092):
    return {
        "conn_id": f"c{second}-{node}-{port}",
        "protocol": "kafka",
        "server_ip": f"10.0.0.{node}",
        "server_port": port,
        "node_id": node,
        "first_ns": second * S,
        "last_ns": second * S,
        "api_versions_offered": offered,
    }


def dataset(place, connections, **messages):
    """A dataset of these connections, and of requests of these APIs: API=rows."""
    schema = pa.schema([field.with_nullable(True) for field in CONNECTIONS.schema])
    tables = {"connections": pa.Table.from_pylist(connections, schema)}
    tables |= {f"messages/{api}/request": pa.Table.from_pylist(rows) for api, rows in messages.items()}
    for name, table in tables.items():
        (place / name).mkdir(parents=True)
        pq.write_table(table, place / name / "part-0.parquet")
    (place / MANIFEST).write_text(Manifest(written_files(place), {"stream_bytes": 1}).to_json())
    return Dataset.open(place)


def test_a_rolling_upgrade_is_shown_broker_by_broker(tmp_path):
    old, new = offer("3.9", "broker"), offer("4.0", "broker")
    rows = [connection(second, node, old) for second, node in ((1, 1), (2, 2), (3, 3), (9, 2))]
    rows += [connection(12, 1, new), connection(20, 2, new), connection(25, 1, new)]
    found = cluster_releases(dataset(tmp_path, rows))
    changed = [
        (b.node_id, b.release.text, a.release.text, b.last_ns // S, a.first_ns // S) for b, a in upgrades(found.spans)
    ]
    assert changed == [(1, "3.9", "4.0", 1, 12), (2, "3.9", "4.0", 9, 20)]
    assert found.mode == KRAFT_MODE
    assert found.sentence == (
        "KRaft mode, Kafka 3.9 on node 3; Kafka 4.0 on nodes 1, 2, by what the brokers offer (ApiVersions)"
    )


def test_the_listener_that_says_most_counts(tmp_path):
    rows = [connection(1, 1, offer("4.0", "controller"), 9093), connection(2, 1, offer("4.0", "broker"))]
    rows += [connection(3, 1, offer("4.0", "controller"), 9093)]
    found = cluster_releases(dataset(tmp_path, rows))
    assert [(span.address, span.release.text) for span in found.spans] == [("10.0.0.1:9092", "4.0")]
    assert not list(upgrades(found.spans))


def test_a_broker_names_its_release_where_nobody_asks_for_its_versions(tmp_path):
    def named(second, node, version):
        of_controller = connection(second, 9, None, 9093)
        return of_controller | {
            "client_ip": f"10.0.0.{node}",
            "client_ids": [f"raft-client-{node}"],
            "software_version": version,
        }

    rows = [connection(1, 1, offer("3.9", "broker")), connection(1, 2, offer("3.9", "broker"))]
    rows += [named(1, 1, "3.9.1"), named(9, 1, "4.0.0"), named(9, 2, "7.9.1-ccs")]
    rows += [named(9, 2, "4.0.0") | {"client_ids": ["my-raft-client-2"]}]
    found = cluster_releases(dataset(tmp_path, rows))
    assert [(span.node_id, span.release.text, span.first_ns // S) for span in found.spans] == [
        (1, "3.9", 1),
        (1, "4.0", 9),
        (2, "3.9", 1),
    ]


def test_zookeeper_mode_by_the_offer(tmp_path):
    found = cluster_releases(dataset(tmp_path, [connection(1, 1, offer("3.9", "broker", "zkBroker"))]))
    assert found.sentence == f"{ZOOKEEPER_MODE} mode, Kafka 3.9 by what the brokers offer (ApiVersions)"


def test_a_kraft_controller_that_sends_to_brokers_with_zookeeper_is_a_migration(tmp_path):
    rows = [connection(1, 1, offer("3.9", "broker", "zkBroker"))]
    sent = [{"is_k_raft_controller": False}, {"is_k_raft_controller": True}]
    assert cluster_releases(dataset(tmp_path / "a", rows, LeaderAndIsr=sent)).mode == MIGRATION
    assert cluster_releases(dataset(tmp_path / "b", rows, LeaderAndIsr=sent[:1])).mode == ZOOKEEPER_MODE
    registered = [{"is_migrating_zk_broker": True}]
    assert cluster_releases(dataset(tmp_path / "c", rows, BrokerRegistration=registered)).mode == MIGRATION


def test_nothing_offered_says_nothing(tmp_path):
    found = cluster_releases(dataset(tmp_path, [connection(1, 1, None)]))
    assert (found.spans, found.mode, found.sentence) == ((), None, None)
