"""Texts that are not names. Any text that is not listed here is replaced, so that a new column leaks nothing."""

import re
from collections.abc import Iterator

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_parsers.error_facts import ERROR_CODES
from kafkascope_parsers.group_protocols import PROTOCOLS
from kafkascope_parsers.schema import api_catalogue

KEPT_COLUMNS = frozenset(
    {
        "captures.format",
        "captures.linktype",
        "captures.cut_why",
        "connections.why",
        "connections.claimed_job_why",
        "connections.tls_version",
        "connections.tls_suite",
        "connections.tls_group",
        "connections.tls_versions_offered",
        "connections.tls_suites_offered",
        "connections.tls_server_extensions",
        "connections.tls_ja4",
        "connections.tls_client_alert",
        "connections.tls_server_alert",
        "connections.tls_failure",
        "connections.api_versions_offered",
        "connections.api_versions_used",
        "dns.type",
        "dns.rcode",
        "undecoded.detail",
        "undecoded.head",
        "out_of_range.api_name",
        "out_of_range.field",
        "out_of_range.kind",
        "out_of_range.allowed",
        "out_of_range.least",
        "out_of_range.greatest",
        "errors.field_path",
        "records.problem",
    }
)
"""Columns (table.column) with words of the program, and with numbers."""
KEPT_FIELDS = frozenset(
    {
        "cadence",
        "claimed_job",
        "close_kind",
        "coordinator_type",
        "ended_by",
        "host_kind",
        "key_kind",
        "kind",
        "layer",
        "protocol",
        "rcode",
        "scope",
        "status",
        "tls_claimed_library",
        "tls_client_alert",
        "tls_failure",
        "tls_ja4",
        "tls_server_alert",
        "tls_version",
    }
)
"""Fields of the structs of `events` with such words."""
SENTENCES = frozenset({"node_id_why"})
"""Columns with sentences of the program that contain names."""
REASONS = frozenset({"reason"})
"""Fields with the reasons of clients for joining or leaving a group."""
KNOWN_REASONS = frozenset(
    {
        "beginning to manage the group lifecycle",
        "client leaving group per normal operation",
        "consumer poll timeout has expired.",
        "need to re-join with the given member-id",
        "rebalance enforced by user",
        "rebalance failed due to MemberIdRequiredException",
        "the consumer is being closed",
        "the consumer unsubscribed from all topics",
    }
)
"""Reasons of Kafka's own clients, up to a colon (KIP-800)."""
FREE_TEXTS = frozenset({"message", "error_message", "header_names"})
"""Texts of brokers about errors, with names in any place, and texts of applications."""
REDACTED = "redacted"
DAYS = re.compile(r"tls_(server|client)_not_(before|after)_(ns|ts)")
"""Times of certificates, of which only the day is kept: public logs of certificates can be searched by the second."""
DROPPED = frozenset({"community_id"})
"""Columns with hashes of addresses without a key: they can be reversed by trying all addresses."""
NAMES = frozenset(
    {
        "client_id",
        "client_ids",
        "group_id",
        "group_instance_id",
        "host",
        "key",
        "member_id",
        "principal",
        "subject",
        "topic",
        "transactional_id",
    }
)
"""Columns and fields that hold only names, even names that are a word which is kept elsewhere."""
_OTHER_WORDS = """
consumer connect share streams sr stream compatible eager sessioned group transaction cluster broker none all
range roundrobin sticky cooperative-sticky uniform h2 http/1.1 PLAIN SCRAM-SHA-256 SCRAM-SHA-512 GSSAPI OAUTHBEARER
apache-kafka-java librdkafka confluent-kafka-python confluent-kafka-go confluent-kafka-dotnet rdkafka node-rdkafka
confluent-kafka-javascript kgo sarama kafkajs kafka-python aiokafka
"""
"""Names of group protocols, assignors, mechanisms and libraries."""
_VERSION = re.compile(r"v?\d[\w.+-]{0,40}")
_NODE = re.compile(r"node -?\d{1,10}")
_NUMBER = re.compile(r"\d{1,5}")
_WORDS_OF_SENTENCES = """
a address advertised answers are as at be behind broker but by cannot capture coordinates DNS encrypted file for
hosts if in is it its leads more node nodes nothing of one only or read resolved show shows than that the this
what which would --hosts
"""
"""The words of SENTENCES: any other part of such a sentence counts as a name."""


_WORDS = frozenset(_WORDS_OF_SENTENCES.split())


def kept_words(tables: Iterator[Table]) -> set[str]:
    """Returns the texts that are not names in columns that do not only have names."""
    values = {value for table in tables for column in table.columns for value in column.values}
    apis = {api.name for api in api_catalogue().values()}
    errors, protocols = {code.name for code in ERROR_CODES}, {protocol.name for protocol in PROTOCOLS}
    return values | apis | errors | protocols | set(_OTHER_WORDS.split()) | {"NONE"}


def is_kept(field: str, text: str) -> bool:
    """Whether a text of that field is not a name, whatever else the field may hold."""
    return bool((field == "software_version" and _VERSION.fullmatch(text)) or _NODE.fullmatch(text))


def is_word(token: str) -> bool:
    """Whether a part of a sentence is one of its words or a small number."""
    return token in _WORDS or _NUMBER.fullmatch(token) is not None
