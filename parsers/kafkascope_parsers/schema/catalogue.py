"""The catalogue of Kafka's APIs: the purpose of each, its sender, and the role that the sender expects of the server.

The facts are in apis.tsv. They are maintained by hand from Kafka's clients and brokers (KafkaApis, ControllerApis,
NetworkClient); names and versions of the APIs come from the message definitions (facts/). All code that depends on the
kind of an API (roles, topology, colours, omissions in large pages, events) uses this module.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, cast, get_args

Family = Literal["records", "discovery", "connection", "group", "transaction", "broker", "admin"]
"""Purpose of an API: records of partitions; discovery of leaders and coordinators; version and login of a connection;
members and offsets of a group; transactions; traffic between brokers and controllers; administration, telemetry and all
others."""
Sender = Literal["client", "broker", "both"]
FAMILIES: tuple[Family, ...] = get_args(Family)


@dataclass(frozen=True, slots=True)
class Api:
    """One API.

    sender: sender of its requests; is_steady: whether a healthy sender repeats it as long as it runs; roles: roles of
    the server for a client that sends it (as in the table roles), the most specific first; roles_since: first version
    for which they hold (OffsetCommit and OffsetFetch 0 keep offsets in ZooKeeper, which every broker does).
    """

    api_key: int
    name: str
    family: Family
    sender: Sender
    is_steady: bool
    roles: tuple[str, ...]
    roles_since: int


@cache
def api_catalogue() -> dict[int, Api]:
    """Returns all APIs by key, ascending."""
    lines = (files(__package__) / "apis.tsv").read_text("utf-8").splitlines()
    return {api.api_key: api for api in (_api(line.split("\t")) for line in lines[1:])}


def apis_for_role(role: str) -> dict[str, int]:
    """Returns the names of the APIs that are sent to a server in this role, each with the first version for which that
    holds."""
    return {api.name: api.roles_since for api in api_catalogue().values() if role in api.roles}


def keys_of_families(families: Collection[Family]) -> frozenset[int]:
    """Returns the keys of the APIs of these families."""
    return frozenset(key for key, api in api_catalogue().items() if api.family in families)


def _api(fields: list[str]) -> Api:
    key, name, family, sender, steady, roles, since = fields
    if family not in FAMILIES or sender not in get_args(Sender) or steady not in ("yes", "no"):
        raise ValueError(f"apis.tsv, {name}: {family}, {sender}, {steady} are not all known")
    known = family, cast("Sender", sender)
    return Api(int(key), name, *known, steady == "yes", tuple(roles.split(",")) if roles else (), int(since))
