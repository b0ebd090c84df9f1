"""The table of error codes against Kafka's own facts, and its look-ups against the sets that they stand for.

Kafka's class families are those of the exceptions that org.apache.kafka.common.protocol.Errors (4.4) names.
"""

import pytest

from kafkascope_parsers import error_facts as table
from kafkascope_parsers.error_facts import ERROR_CODES, SUBJECTS, errors_about
from kafkascope_parsers.schema import api_keys, api_name, error_codes, error_name, is_retriable

KAFKAS = {error_name(code) for code in error_codes()}
BY_NAME = {row.name: row for row in ERROR_CODES}


def names_in(text: str) -> set[str]:
    return set(text.split())


INVALID_METADATA_EXCEPTION = names_in(
    "UNKNOWN_TOPIC_OR_PARTITION LEADER_NOT_AVAILABLE NOT_LEADER_OR_FOLLOWER REPLICA_NOT_AVAILABLE NETWORK_EXCEPTION "
    "KAFKA_STORAGE_ERROR LISTENER_NOT_FOUND FENCED_LEADER_EPOCH PREFERRED_LEADER_NOT_AVAILABLE "
    "ELIGIBLE_LEADERS_NOT_AVAILABLE ELECTION_NOT_NEEDED UNKNOWN_TOPIC_ID INCONSISTENT_TOPIC_ID"
)
REFRESH_RETRIABLE_EXCEPTION = {"COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"}
"""Without its subclass InvalidMetadataException."""
AUTHORIZATION_EXCEPTION = names_in(
    "TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED "
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED DELEGATION_TOKEN_AUTHORIZATION_FAILED"
)
AUTHENTICATION_EXCEPTION = {"UNSUPPORTED_SASL_MECHANISM", "ILLEGAL_SASL_STATE", "SASL_AUTHENTICATION_FAILED"}


def test_every_code_of_kafka_and_every_failure_without_one_has_one_row() -> None:
    names = [row.name for row in ERROR_CODES]
    assert len(names) == len(set(names))
    assert {name for name in names if BY_NAME[name].code is not None} == KAFKAS


def test_number_and_retriability_are_kafkas() -> None:
    for code in error_codes():
        row = BY_NAME[error_name(code)]
        assert (row.code, row.retriable) == (code, is_retriable(code))
    assert BY_NAME["NOT_COORDINATOR"].retriable
    assert not BY_NAME["FENCED_INSTANCE_ID"].retriable
    assert not BY_NAME["CONNECTION_CLOSED"].retriable


def test_families_are_those_of_kafkas_exceptions() -> None:
    assert {row.name for row in ERROR_CODES if row.refresh == "Metadata"} == INVALID_METADATA_EXCEPTION
    assert table.COORDINATOR_MOVED == REFRESH_RETRIABLE_EXCEPTION
    assert table.PERMISSION_DENIED == AUTHORIZATION_EXCEPTION
    assert table.REFUSED_CREDENTIALS == AUTHENTICATION_EXCEPTION


def test_what_a_refresh_helps_against_is_retriable_and_what_is_fatal_is_not() -> None:
    for row in ERROR_CODES:
        assert row.retriable or row.refresh is None, row.name
        assert not (row.retriable and row.fatal), row.name
        assert row.normal == "never" or not row.fatal, row.name


def test_every_subject_has_errors_and_informing_apis_exist() -> None:
    assert all(errors_about(subject) for subject in SUBJECTS)
    assert {api for api, _ in table.INFORMING} <= {api_name(key) for key in api_keys()}


@pytest.mark.parametrize(
    ("look_up", "names"),
    [
        (
            table.NORMAL_ERRORS,
            "MEMBER_ID_REQUIRED REBALANCE_IN_PROGRESS FETCH_SESSION_ID_NOT_FOUND INVALID_FETCH_SESSION_EPOCH "
            "FETCH_SESSION_TOPIC_ID_ERROR SHARE_SESSION_NOT_FOUND INVALID_SHARE_SESSION_EPOCH "
            "SHARE_SESSION_LIMIT_REACHED DUPLICATE_SEQUENCE_NUMBER UNKNOWN_SUBSCRIPTION_ID TELEMETRY_TOO_LARGE NONE",
        ),
        (table.BRIEFLY_NORMAL, "CONCURRENT_TRANSACTIONS"),
        (
            table.AT_NODE,
            "NOT_LEADER_OR_FOLLOWER FENCED_LEADER_EPOCH NOT_COORDINATOR CONNECTION_REFUSED CONNECTION_UNANSWERED "
            "CONNECTION_RESET CONNECTION_CLOSED REQUEST_UNANSWERED RESPONSE_LATE",
        ),
        (table.SILENT, "REQUEST_UNANSWERED RESPONSE_LATE CONNECTION_UNANSWERED"),
        (
            table.FOLLOWS,
            "LEADER_NOT_AVAILABLE UNKNOWN_LEADER_EPOCH COORDINATOR_NOT_AVAILABLE COORDINATOR_LOAD_IN_PROGRESS "
            "NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND REQUEST_TIMED_OUT CONCURRENT_TRANSACTIONS",
        ),
        (table.FOLLOWS_FOR_THE_SAME, "UNKNOWN_MEMBER_ID ILLEGAL_GENERATION FENCED_MEMBER_EPOCH"),
        (table.SERVER_CLOSED, "CONNECTION_CLOSED CONNECTION_RESET"),
        (
            errors_about("coordinator"),
            "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE COORDINATOR_LOAD_IN_PROGRESS",
        ),
        (
            errors_about("fetch session"),
            "FETCH_SESSION_ID_NOT_FOUND INVALID_FETCH_SESSION_EPOCH FETCH_SESSION_TOPIC_ID_ERROR",
        ),
        (
            # INVALID_TRANSACTION_TIMEOUT comes from InitProducerId alone, whose errors are all about the transaction.
            errors_about("transaction", "producer epoch", "producer id") - {"INVALID_TRANSACTION_TIMEOUT"},
            "CONCURRENT_TRANSACTIONS PRODUCER_FENCED INVALID_PRODUCER_EPOCH INVALID_PRODUCER_ID_MAPPING "
            "INVALID_TXN_STATE TRANSACTIONAL_ID_AUTHORIZATION_FAILED TRANSACTION_ABORTABLE UNKNOWN_PRODUCER_ID",
        ),
        (
            table.STALE_MEMBER,
            "UNKNOWN_MEMBER_ID ILLEGAL_GENERATION FENCED_MEMBER_EPOCH STALE_MEMBER_EPOCH",
        ),
        (table.FENCED_INSTANCE, "FENCED_INSTANCE_ID UNRELEASED_INSTANCE_ID"),
        (table.MEMBER_REMOVED, "UNKNOWN_MEMBER_ID FENCED_MEMBER_EPOCH"),
        (
            table.COMMIT_REFUSED,
            "REBALANCE_IN_PROGRESS UNKNOWN_MEMBER_ID ILLEGAL_GENERATION FENCED_MEMBER_EPOCH STALE_MEMBER_EPOCH "
            "FENCED_INSTANCE_ID UNRELEASED_INSTANCE_ID",
        ),
        (table.EPOCH_OVER, "INVALID_PRODUCER_EPOCH PRODUCER_FENCED"),
        (
            # The clients' own code ends at these: AbstractHeartbeatRequestManager (fatal errors of heartbeats),
            # rd_kafka_cgrp_consumer_group_heartbeat, SaslClientAuthenticator (the server closes the connection).
            table.FATAL
            - {"UNRELEASED_INSTANCE_ID", "INVALID_REGULAR_EXPRESSION", "AUTHENTICATION_CLOSED"}
            - {"STREAMS_INVALID_TOPOLOGY", "STREAMS_INVALID_TOPOLOGY_EPOCH", "STREAMS_TOPOLOGY_FENCED"},
            "SASL_AUTHENTICATION_FAILED UNSUPPORTED_SASL_MECHANISM ILLEGAL_SASL_STATE TOPIC_AUTHORIZATION_FAILED "
            "GROUP_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED "
            "FENCED_INSTANCE_ID PRODUCER_FENCED UNSUPPORTED_VERSION INVALID_TOPIC_EXCEPTION INVALID_GROUP_ID "
            "INCONSISTENT_GROUP_PROTOCOL INVALID_SESSION_TIMEOUT GROUP_MAX_SIZE_REACHED INVALID_REQUIRED_ACKS "
            "MESSAGE_TOO_LARGE RECORD_LIST_TOO_LARGE INVALID_TRANSACTION_TIMEOUT UNSUPPORTED_ASSIGNOR",
        ),
    ],
)
def test_look_ups_hold_what_the_stories_were_recorded_with(look_up: frozenset[str], names: str) -> None:
    assert look_up == names_in(names)


def test_informing_errors_are_those_of_kip_394_and_kip_511() -> None:
    assert set(table.INFORMING) == {("JoinGroup", "MEMBER_ID_REQUIRED"), ("ApiVersions", "UNSUPPORTED_VERSION")}
