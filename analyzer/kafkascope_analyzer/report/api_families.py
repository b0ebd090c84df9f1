"""How the families of APIs (kafkascope_parsers.schema.catalogue) are shown: titles, colours, patterns."""

from dataclasses import dataclass
from functools import cache

from kafkascope_analyzer.dataset.tables.connections import ROLE_FAMILIES
from kafkascope_parsers.schema.catalogue import Family, api_catalogue


@dataclass(frozen=True, slots=True)
class ApiFamily:
    """A family of the catalogue. `name` is also that of its colour in the style sheet of the HTML page, `pattern` how
    its area is filled, so that the colour is not needed alone.
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
"""All families in the catalogue's order; the last stands also for an API that the catalogue does not have."""
OTHER = len(FAMILIES) - 1
_PLACES = {family.name: number for number, family in enumerate(FAMILIES)}


@cache
def family_numbers() -> dict[str, int]:
    """The place in FAMILIES of each API's family, by the API's name."""
    return {api.name: _PLACES[api.family] for api in api_catalogue().values()}


def family_number(api_name: str | None) -> int:
    """The place of an API's family in FAMILIES."""
    return family_numbers().get(api_name or "", OTHER)


def role_family_number(role: str | None) -> int:
    """The place in FAMILIES of the family whose colour a role has."""
    name = ROLE_FAMILIES.get(role or "")
    return OTHER if name is None else _PLACES[name]
