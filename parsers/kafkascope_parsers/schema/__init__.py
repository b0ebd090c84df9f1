"""Kafka's messages as data: facts about their fields, trees over all versions, compiled programs."""

from kafkascope_parsers.schema.catalogue import Api, api_catalogue, apis_for_role, keys_of_families
from kafkascope_parsers.schema.errors import error_codes, error_name, is_retriable
from kafkascope_parsers.schema.facts import Direction
from kafkascope_parsers.schema.messages import (
    API_VERSION_RANGE,
    FLEXIBLE_FROM,
    MessageType,
    api_keys,
    api_name,
    data_message_type,
    header_version,
    keys_by_name,
    message_type,
)
from kafkascope_parsers.schema.tree import Node

__all__ = [
    "API_VERSION_RANGE",
    "FLEXIBLE_FROM",
    "Api",
    "Direction",
    "MessageType",
    "Node",
    "api_catalogue",
    "api_keys",
    "api_name",
    "apis_for_role",
    "data_message_type",
    "error_codes",
    "error_name",
    "header_version",
    "is_retriable",
    "keys_by_name",
    "keys_of_families",
    "message_type",
]
