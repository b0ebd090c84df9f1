"""Message types: versions, headers, fields, errors, and what the facts may hold."""

import json
from importlib.resources import files

import numpy as np
import pytest

import kafkascope_parsers.schema as schema
from kafkascope_parsers.schema import program
from kafkascope_parsers.schema.facts import parse_versions
from kafkascope_parsers.schema.secrets import APIS_WITH_RECORDS, SECRETS, is_secret_name
from kafkascope_parsers.schema.tree import snake_case

# (key, name, versions, first flexible version) as listed by Kafka's protocol guide; removed versions from that of 3.9.
KNOWN = [
    (0, "Produce", (0, 13), 9),
    (1, "Fetch", (0, 18), 12),
    (3, "Metadata", (0, 13), 9),
    (4, "LeaderAndIsr", (0, 7), 4),
    (7, "ControlledShutdown", (0, 3), 3),
    (8, "OffsetCommit", (0, 10), 8),
    (17, "SaslHandshake", (0, 1), -1),
    (18, "ApiVersions", (0, 5), 3),
    (36, "SaslAuthenticate", (0, 2), 2),
    (47, "OffsetDelete", (0, 0), -1),
    (68, "ConsumerGroupHeartbeat", (0, 1), 0),
    (74, "ListConfigResources", (0, 1), 0),
    (92, "DeleteShareGroupOffsets", (0, 0), 0),
]


@pytest.mark.parametrize(("key", "name", "versions", "flexible_from"), KNOWN)
def test_versions_are_kafkas(key, name, versions, flexible_from):
    assert schema.api_name(key) == name
    assert tuple(schema.API_VERSION_RANGE[key].tolist()) == versions
    assert schema.FLEXIBLE_FROM[key] == flexible_from
    for direction in ("request", "response"):
        assert schema.message_type(key, direction).versions == versions
        assert schema.message_type(key, direction).name == name + direction.capitalize()


def test_every_key_of_kafka_is_known():
    assert set(range(93)) <= set(schema.api_keys())
    assert schema.api_name(9999) == "UNKNOWN_9999"
    assert schema.API_VERSION_RANGE.dtype == schema.FLEXIBLE_FROM.dtype == np.int16
    assert len(schema.API_VERSION_RANGE) == len(schema.FLEXIBLE_FROM) == max(schema.api_keys()) + 1


@pytest.mark.parametrize(
    ("key", "direction", "version", "header"),
    [
        (0, "request", 8, 1),
        (0, "request", 9, 2),
        (0, "response", 8, 0),
        (0, "response", 9, 1),
        (7, "request", 0, 0),
        (7, "request", 1, 1),
        (7, "request", 3, 2),
        (7, "response", 3, 1),
        (17, "request", 1, 1),
        (18, "request", 3, 2),
        (18, "response", 3, 0),
        (18, "response", 4, 0),
    ],
)
def test_headers_are_those_of_the_version(key, direction, version, header):
    assert schema.header_version(key, direction, version) == header


def test_paths_lead_to_nodes():
    fetch = schema.message_type(1, "response")
    node = fetch.node("responses[].partitions[].error_code")
    assert (node.name, node.kafka_name, node.type, node.kind) == ("error_code", "ErrorCode", "int16", "leaf")
    assert fetch.level_arrays[node.level] is fetch.node("responses[].partitions")
    assert fetch.node("header.correlation_id").level == 0
    with pytest.raises(KeyError):
        fetch.node("no.such[].path")


def test_identifiers_carry_their_entity_type():
    found = {}
    for key in schema.api_keys():
        for direction in ("request", "response"):
            for leaf in schema.message_type(key, direction).leaves():
                if leaf.entity_type:
                    found.setdefault(leaf.entity_type, set()).add(leaf.path)
    assert set(found) == {"transactionalId", "producerId", "groupId", "topicName", "brokerId"}
    assert "transactional_id" in found["transactionalId"]
    assert "responses[].topic" in found["topicName"]
    assert "forgotten_topics_data[].topic" in found["topicName"]


@pytest.mark.parametrize(
    ("name", "snake"),
    [("ErrorCode", "error_code"), ("SubscribedTopicNames", "subscribed_topic_names"), ("IsKRaftController",
    "is_k_raft_controller"),
     ("ISR", "isr"), ("TopicId", "topic_id"), ("Enable2Pc", "enable2_pc")],
)  # fmt: skip
def test_names_become_snake_case(name, snake):
    assert snake_case(name) == snake


def test_no_two_fields_of_a_struct_share_a_column():
    for key in schema.api_keys():
        for direction in ("request", "response"):
            for node in schema.message_type(key, direction).root.walk():
                names = [child.name for child in node.children.values()]
                assert len(names) == len(set(names)), node.path


@pytest.mark.parametrize(("limit", "value"), [("MAX_DEPTH", 3), ("MAX_TAGS", 2)])
def test_what_the_machine_has_no_room_for_does_not_compile(monkeypatch, limit, value):
    monkeypatch.setattr(program, limit, value)
    assert schema.message_type.__wrapped__(12, "request") is not None
    with pytest.raises(ValueError, match=r"nested deeper than 3|more than 2 tags"):
        schema.message_type.__wrapped__(1, "response")


def test_errors_are_kafkas():
    codes = schema.error_codes()
    assert codes == tuple(range(-1, codes[-1] + 1))
    assert codes[-1] >= 133
    names = {
        0: "NONE",
        -1: "UNKNOWN_SERVER_ERROR",
        3: "UNKNOWN_TOPIC_OR_PARTITION",
        35: "UNSUPPORTED_VERSION",
        6: "NOT_LEADER_OR_FOLLOWER",
    }
    assert {c: schema.error_name(c) for c in names} == names
    assert [c for c in (3, 6, 7, 16, 27, 22, 29, 35, 0, -1) if schema.is_retriable(c)] == [3, 6, 7, 16]
    assert schema.error_name(30_000) == "UNKNOWN_30000"
    assert not schema.is_retriable(30_000)


def test_every_secret_is_a_field_and_every_field_that_sounds_like_one_is_secret():
    by_name = {
        message.name: message
        for key in schema.api_keys()
        for message in (schema.message_type(key, "request"), schema.message_type(key, "response"))
    }
    for name, fields in SECRETS.items():
        for path, when in fields.items():
            assert by_name[name].node(path).secret == when
            assert all(by_name[name].node(other) for other in (*when.sensitive, *when.names, *when.types))
    sounding = {
        (message.name, leaf.path)
        for message in by_name.values()
        for leaf in message.leaves()
        if any(word in leaf.name for word in ("hmac", "password", "salt", "auth_bytes", "secret"))
        or (leaf.name == "value" and leaf.type in ("string", "bytes"))
    }
    secret = {(name, path) for name, paths in SECRETS.items() for path in paths}
    assert len(sounding) >= 16
    assert sounding <= secret


def test_texts_of_brokers_about_secrets_may_repeat_them():
    for name, path in (("SaslAuthenticate", "error_message"), ("CreateTopics", "topics[].error_message")):
        key = next(key for key in schema.api_keys() if schema.api_name(key) == name)
        assert schema.message_type(key, "response").node(path).secret.is_report
    assert schema.message_type(10, "response").node("error_message").secret is None


PASSWORDS = [
    "ssl.key.password", "ssl.keystore.password", "ssl.truststore.password", "ssl.keystore.key", "sasl.jaas.config",
    "ssl.keystore.certificate.chain", "ssl.truststore.certificates", "delegation.token.master.key",
    "delegation.token.secret.key", "password.encoder.secret", "password.encoder.old.secret",
    "sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.assertion.private.key.passphrase",
    "listener.name.external.scram-sha-256.sasl.jaas.config", "LISTENER.NAME.X.SSL.KEY.PASSWORD", "password", "key",
    "schema.registry.basic.auth.user.info", "my.plugin.api-token", "aws.secret.access.key", "x.password ",
]  # fmt: skip
OPEN = [
    "retention.ms", "compression.type", "ssl.keystore.type", "ssl.truststore.location", "sasl.mechanism",
    "password.encoder.iterations", "password.encoder.key.length", "delegation.token.max.lifetime.ms", "monkey",
    "key.deserializer", "", "unclean.leader.election.enable", "sasl.oauthbearer.token.endpoint.url",
]  # fmt: skip


@pytest.mark.parametrize(("names", "secret"), [(PASSWORDS, True), (OPEN, False)])
def test_names_that_kafka_types_as_password(names, secret):
    assert [name for name in names if is_secret_name(name) != secret] == []


def test_facts_are_facts_only():
    allowed = {
        "api_key", "apis", "code", "definitions", "entityType", "errors", "fields", "flexibleVersions", "flexible_from",
        "latestVersionUnstable", "max", "min", "name", "nullableVersions", "request", "request_formerly", "response",
        "response_formerly", "retriable", "source", "sources", "tag", "taggedVersions", "type", "versions",
    }  # fmt: skip

    def keys(value):
        if isinstance(value, dict):
            return set(value).union(*(keys(v) for v in value.values()))
        return set().union(*(keys(v) for v in value)) if isinstance(value, list) else set()

    found = list((files("kafkascope_parsers.schema") / "facts").iterdir())
    assert len(found) > 100
    for entry in found:
        assert keys(json.loads(entry.read_text("utf-8"))) <= allowed, entry.name


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("3", [3], [2, 4]), ("3+", [3, 32767], [2]), ("1-4", [1, 4], [0, 5]), ("none", [], [0, -1]), (None, [], [0])],
)
def test_version_ranges(text, inside, outside):
    versions = parse_versions(text)
    assert all(v in versions for v in inside)
    assert not any(v in versions for v in outside)


def test_the_apis_with_record_data_are_those_that_kafkas_definitions_give_such_a_field():
    have = {
        schema.api_name(key)
        for key in schema.api_keys()
        for direction in ("request", "response")
        if any(slot.type == "records" for slot in schema.message_type(key, direction).slots)
    }
    assert have == APIS_WITH_RECORDS
