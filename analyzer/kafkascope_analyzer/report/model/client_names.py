"""The names of client instances."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of
from kafkascope_analyzer.report.rows import read
from kafkascope_spark.stories.tables import CLIENTS


@dataclass(frozen=True, slots=True)
class NamedClient(Row):
    """A client instance as sentences name it."""

    TABLE: ClassVar[Table] = CLIENTS
    client_instance_id: str
    client_id: str | None
    client_ip: str | None
    kind: str
    group_id: str | None
    software_name: str | None
    software_version: str | None

    @property
    def name(self) -> str | None:
        """The client id, else the address."""
        return self.client_id or self.client_ip


def named_clients(dataset: Dataset, client_instance_ids: Iterable[str | None]) -> dict[str, NamedClient]:
    """Returns client_instance_id -> the client, for those that the dataset has."""
    wanted = one_of("client_instance_id", sorted({identity for identity in client_instance_ids if identity}))
    return {client.client_instance_id: client for client in read(dataset, NamedClient, wanted)}


def client_ids(dataset: Dataset, client_instance_ids: Iterable[str | None]) -> dict[str, str | None]:
    """Returns client_instance_id -> client id."""
    found = named_clients(dataset, client_instance_ids)
    return {identity: client.client_id for identity, client in found.items()}
