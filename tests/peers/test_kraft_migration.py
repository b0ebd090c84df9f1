"""A cluster that migrates from ZooKeeper to KRaft (KIP-866), by frames that Kafka's own classes made
(fixtures/vectors): each request and answer that only such a cluster sends says so.
"""

import gzip
import json
from functools import cache
from pathlib import Path

import pytest

from kafkascope_analyzer.dataset.broker_releases import cluster_releases
from kafkascope_analyzer.dataset.dataset import Dataset

from .wire import Conversation, read

FRAMES = Path(__file__).parents[2] / "fixtures" / "vectors" / "frames.jsonl.gz"
SIGNS = {
    ("LeaderAndIsr", "request"): "isKRaftController",
    ("UpdateMetadata", "request"): "isKRaftController",
    ("StopReplica", "request"): "isKRaftController",
    ("BrokerRegistration", "request"): "isMigratingZkBroker",
    ("ControllerRegistration", "request"): "zkMigrationReady",
    ("ApiVersions", "response"): "zkMigrationReady",
}
MIGRATION = "migration from ZooKeeper to KRaft"


@cache
def frames():
    with gzip.open(FRAMES) as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def vectors():
    """(API, direction, whether it shows a migration) -> frames."""
    found = {}
    for frame in frames():
        kind = frame["api_name"], frame["direction"]
        if kind in SIGNS:
            found.setdefault((*kind, bool(frame["body_json"].get(SIGNS[kind]))), []).append(frame)
    return found


def mode_of(folder, frame):
    """The mode of a cluster of which one frame is seen: a request, or a response with a request before it."""
    raw, conversation = bytes.fromhex(frame["frame_hex"]), Conversation()
    if frame["direction"] == "response":
        asked = bytes.fromhex(request_like(frame)["frame_hex"])
        conversation.from_client(asked[:8] + raw[4:8] + asked[12:]).from_server(
            raw
        )  # with the response's correlation id
    else:
        conversation.from_client(raw)
    found = read(folder, conversation)
    assert found.messages(frame["api_name"], frame["direction"]), "it was decoded"
    return cluster_releases(Dataset.open(found.place)).mode


def request_like(response):
    """A request of the API and version of the response."""
    same = ("api_key", "version")
    return next(f for f in frames() if f["direction"] == "request" and all(f[name] == response[name] for name in same))


@pytest.mark.parametrize(("api", "direction"), SIGNS)
def test_each_sign_of_a_migration(tmp_path, vectors, api, direction):
    for number, frame in enumerate(vectors[api, direction, True]):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert mode_of(folder, frame) == MIGRATION, frame["version"]


@pytest.mark.parametrize(
    ("api", "direction", "mode"),
    [
        ("LeaderAndIsr", "request", "ZooKeeper"),
        ("UpdateMetadata", "request", "ZooKeeper"),
        ("StopReplica", "request", "ZooKeeper"),
        ("BrokerRegistration", "request", None),
    ],
)
def test_the_same_messages_without_the_sign_show_no_migration(tmp_path, vectors, api, direction, mode):
    newest = max(vectors[api, direction, False], key=lambda frame: frame["version"])
    assert mode_of(tmp_path, newest) == mode
