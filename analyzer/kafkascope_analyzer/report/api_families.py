"""Titles, colours and patterns of the families of APIs (kafkascope_parsers.schema.catalogue)."""

from dataclasses import dataclass
from functools import cache

from kafkascope_analyzer.dataset.tables.connections import ROLE_FAMILIES
from kafkascope_parsers.schema.catalogue import Family, api_catalogue


@dataclass(frozen=True, slots=True)
class ApiFamily:
    """A family of the catalogue. `name` is also the name of its colour in the style sheet of the HTML page; `pattern`
    fills its area, so that readers do not depend on the colour alone.
    """

    name: Family
    title: str
    short: str
    pattern: str


FAMILIES = (
    ApiFamily("records", "records: Produce, Fetch", "records", "solid"),
    ApiFamily("discovery", "discovery: Metadata, FindCoordinator", "discovery", "rising"),
    ApiFamily("connection", "connection: ApiVersions, SASL", "connection", "dots"),
    ApiFamily("group", "group: join, sync, heartbeat, offsets", "group", "upright"),
    ApiFamily("transaction", "transaction", "transaction", "cross"),
    ApiFamily("broker", "brokers among themselves", "brokers", "level"),
    ApiFamily("admin", "administration, telemetry, other", "other", "falling"),
)
"""All families in the catalogue's order. The last one also stands for an API that the catalogue does not have."""
OTHER = len(FAMILIES) - 1
_PLACES = {family.name: number for number, family in enumerate(FAMILIES)}


@cache
def family_numbers() -> dict[str, int]:
    """Returns the index in FAMILIES of each API's family, by the API's name."""
    return {api.name: _PLACES[api.family] for api in api_catalogue().values()}


def family_number(api_name: str | None) -> int:
    """Returns the index in FAMILIES of an API's family."""
    return family_numbers().get(api_name or "", OTHER)


def role_family_number(role: str | None) -> int:
    """Returns the index in FAMILIES of the family whose colour a role has."""
    name = ROLE_FAMILIES.get(role or "")
    return OTHER if name is None else _PLACES[name]
