"""Bytes between racks, and consumers that read outside of their rack: the answers of the saved questions
`cross-rack-bytes` and `rack-readers`."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.report.rows import answers
from kafkascope_analyzer.sql.database import Database

MOST_ROWS = 100


@dataclass(frozen=True, slots=True)
class CrossRackBytes:
    """Bytes of connections between a client in one rack and brokers in another."""

    client_rack: Annotated[str, "rack of the client: its client.rack, else that of a broker on its host"]
    broker_rack: Annotated[str, "rack of the brokers"]
    by_broker: Annotated[bool, "whether the client runs on the host of a broker, as replicas do"]
    client_id: Annotated[str | None, "client id"]
    client_ip: Annotated[str | None, "address"]
    bytes_sent: Annotated[int, "bytes that it sent"]
    bytes_received: Annotated[int, "bytes that it received"]
    bytes: Annotated[int, "both"]
    cluster: Annotated[str | None, "cluster"]


@dataclass(frozen=True, slots=True)
class RackReader:
    """A consumer that sends its rack (client.rack)."""

    client_id: Annotated[str | None, "client id"]
    client_ip: Annotated[str | None, "address"]
    rack: Annotated[str, "its client.rack"]
    bytes_inside: Annotated[int, "bytes of records that it read inside of its rack"]
    bytes_outside: Annotated[int, "bytes of records that it read outside"]
    n_sent_to_replica: Annotated[int, "responses in which a leader sent it to a replica in its rack"]
    what: Annotated[str, "whether client.rack has its intended effect, or why not, in words"]
    request_id: Annotated[str, "the first request with the rack"]
    cluster: Annotated[str | None, "cluster"]


@dataclass(frozen=True, slots=True)
class Racks:
    """Bytes between racks; empty where the capture shows no racks of brokers."""

    present: Annotated[bool, "whether the racks of brokers, and bytes of whole connections, are known"]
    bytes: Annotated[int, "bytes that went from one rack to another"]
    n: Annotated[int, "pairs of client and rack of brokers, of two racks"]
    listed: Annotated[tuple[CrossRackBytes, ...], "the most bytes first, at most 100"]
    n_readers: Annotated[int, "consumers that send their rack"]
    readers: Annotated[
        tuple[RackReader, ...], "consumers, those that read most outside of their rack first, at most 100"
    ]


def racks(database: Database) -> Racks:
    """Returns the racks. Raises UsageError as `answers` does."""
    if not (database.dataset.has_whole_connections and _has_racks(database)):
        return Racks(False, 0, 0, (), 0, ())
    crossing = answers(database, "cross-rack-bytes", CrossRackBytes)
    readers = answers(database, "rack-readers", RackReader)
    return Racks(
        present=True,
        bytes=sum(row.bytes for row in crossing),
        n=len(crossing),
        listed=tuple(crossing[:MOST_ROWS]),
        n_readers=len(readers),
        readers=tuple(readers[:MOST_ROWS]),
    )


def _has_racks(database: Database) -> bool:
    """Whether the capture names the rack of a broker."""
    if not database.has("topology"):
        return False
    _, known = database.query("select 1 from broker_racks limit 1")
    return next(known, None) is not None
