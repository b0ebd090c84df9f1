"""The table `clients`: the client instances."""

from dataclasses import dataclass
from typing import Annotated, Literal

from kafkascope_analyzer.dataset.row_types import TIME, StoryRow, declares
from kafkascope_parsers.group_protocols import PROTOCOLS
from kafkascope_spark.stories.clients.client_instance import CLIENT_INSTANCE

SoftwareFrom = Literal["api_versions", "behaviour"]
Identity = Literal["sole", "shared"]
EndState = Literal["closed", "died", "evicted", "open"]
CLIENT_KINDS = (
    "consumer",
    "producer",
    "transactional_producer",
    "share_consumer",
    "streams",
    "admin",
    "connect",
    "broker",
    "unknown",
)
READING_KINDS = ("consumer", "share_consumer", "streams", "connect")
"""Kinds of clients that fetch records, whatever else they do."""
PRODUCING_KINDS = ("producer", "transactional_producer")
GROUP_PROTOCOLS = (*(protocol.name for protocol in PROTOCOLS), "none")


@declares("clients", "running client object", sorted_by=("client_ip", "client_id", "first_ns", "client_instance_id"))
@dataclass(slots=True)
class ClientRow(StoryRow):
    """A row of stories/clients."""

    client_instance_id: Annotated[str, CLIENT_INSTANCE]
    client_id: Annotated[str | None, "client id"]
    client_ip: Annotated[str, "address"]
    principal: Annotated[str | None, "principal, where the capture shows one"]
    software_name: Annotated[str | None, "client software"]
    software_version: Annotated[str | None, "its version"]
    software_from: Annotated[
        SoftwareFrom | None, "what shows the software: ApiVersions, or behaviour that fits one library only"
    ]
    claimed_software: Annotated[
        str | None,
        "software of an encrypted client, guessed, never confirmed: its TLS library, and the client libraries that "
        "are known to use it",
    ]
    claimed_software_why: Annotated[str | None, "evidence for that guess"]
    kind: Annotated[str, CLIENT_KINDS, "kind of client"]
    group_protocol: Annotated[str, GROUP_PROTOCOLS, "group protocol"]
    transactions: Annotated[str, ("v1", "v2", "none"), "transaction protocol"]
    group_id: Annotated[str | None, "group"]
    member_ids: Annotated[tuple[str, ...], "member ids it had, in order"]
    group_instance_id: Annotated[str | None, "static member id"]
    transactional_id: Annotated[str | None, "transactional id"]
    identity: Annotated[Identity, "whether these connections certainly belong to one client object"]
    identity_why: Annotated[str, "how it was distinguished from others of the same name"]
    conn_ids: Annotated[tuple[str, ...], "its connections, by time"]
    first_ns: Annotated[int, TIME, "first segment of its connections"]
    last_ns: Annotated[int, TIME, "last segment of its connections"]
    n_requests: Annotated[int, "requests; for an encrypted client those that the lengths of TLS records show"]
    n_errors: Annotated[int | None, "non-zero error codes in the responses; null for an encrypted client"]
    end_state: Annotated[EndState, "how it ended"]

    @property
    def left_ns(self) -> int | None:
        """When all its connections had ended; None for a client that may still run."""
        return None if self.end_state == "open" else self.last_ns


CLIENTS = ClientRow.TABLE
