"""Transport and authentication of clients: the answer of the saved question `security-posture`."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.report.rows import answers
from kafkascope_analyzer.sql.database import Database

MOST_ENTRIES = 200


@dataclass(frozen=True, slots=True)
class WayIn:
    """Connections of a client id from an address with the same transport and authentication."""

    transport: Annotated[str, "TLS or plain text"]
    tls_version: Annotated[str | None, "TLS version"]
    sasl_mechanism: Annotated[str | None, "SASL mechanism"]
    principal: Annotated[str | None, "principal"]
    client_id: Annotated[str | None, "client id"]
    client_ip: Annotated[str | None, "address"]
    n_connections: Annotated[int, "connections"]
    n_failed_logins: Annotated[int, "logins that failed"]
    n_denied: Annotated[int, "operations that were denied"]
    denied: Annotated[tuple[str, ...], "denied operations: API and error"]
    weak: Annotated[tuple[str, ...], "weaknesses, in words"]
    conn_id: Annotated[str, "one of the connections"]
    cluster: Annotated[str | None, "cluster"]


@dataclass(frozen=True, slots=True)
class Security:
    """How clients connect and authenticate: transport, mechanism, principal, denied operations. Clients with old API
    versions are in removed_versions."""

    n: Annotated[int, "ways in"]
    n_plain_text: Annotated[int, "connections in plain text"]
    n_denied: Annotated[int, "operations that were denied"]
    n_failed_logins: Annotated[int, "logins that failed"]
    listed: Annotated[tuple[WayIn, ...], "the least secure first, at most 200"]


def security(database: Database) -> Security:
    """Returns the connections by transport and authentication; none where the dataset lacks a table that the question
    reads. Raises UsageError as `answers` does."""
    found = answers(database, "security-posture", WayIn)
    return Security(
        n=len(found),
        n_plain_text=sum(row.n_connections for row in found if row.transport == "plain text"),
        n_denied=sum(row.n_denied for row in found),
        n_failed_logins=sum(row.n_failed_logins for row in found),
        listed=tuple(found[:MOST_ENTRIES]),
    )
