"""Recognises the client library of a client: by the software name that it sends (KIP-511), else by its behaviour.

Behaviour decides by elimination: a library is excluded where anything that was observed contradicts all its profiles
(libraries/). The answer is the only library that is left, else `unknown`. What is compared: the versions of
the requests, the request with which connections begin, the first correlation ids, and whether one counter numbers the
requests of all connections.
"""

from collections.abc import Mapping, Sequence

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.by_counter import (
    COMPARED_IDS,
    MIN_IDS,
    counts_over_connections,
    is_consecutive,
)
from kafkascope_spark.stories.libraries import registry
from kafkascope_spark.stories.libraries.java import JAVA
from kafkascope_spark.stories.libraries.library import BUT_FIRST, EVERY, NEVER, Profile
from kafkascope_spark.stories.libraries.registry import UNKNOWN
from kafkascope_spark.stories.libraries.versions import APIS, WITHOUT_TOPIC_IDS
from kafkascope_spark.stories.model import Connection

MIN_VERSIONS = 2
"""Least number of APIs, including ApiVersions, whose versions must be known: a single one does not exclude libraries
without a profile."""
_COLUMN = {api: column for column, api in enumerate(APIS)}


def library_named(software_name: str | None) -> str:
    """The name of the library that sends this software name."""
    return registry.library_of_software(software_name).name


def software_name_of(library: str) -> str | None:
    """The software name that the library sends; None for an unknown one."""
    return next(iter(registry.library(library).software_names), None)


def library_of(connections: Sequence[Connection]) -> str:
    """The name of the library of a client with these connections."""
    name = next((c.software_name for c in connections if c.software_name), None)
    return library_by_behaviour(connections) if name is None else library_named(name)


def library_by_behaviour(connections: Sequence[Connection]) -> str:
    """The only library whose behaviour these connections, which name no software, show."""
    ordered = sorted(connections, key=lambda c: (c.begin_ns, c.conn_id))
    if any(c.has_reserved_ids for c in ordered) or (len(ordered) > 1 and counts_over_connections(ordered)):
        return JAVA.name
    versions = _versions(ordered)
    if len(versions) < MIN_VERSIONS:
        return UNKNOWN.name
    fitting = [
        library.name
        for library in registry.LIBRARIES
        if any(_sends(p, versions) and not _is_contradicted(p, ordered) for p in library.profiles)
    ]
    return fitting[0] if len(fitting) == 1 else UNKNOWN.name


def _versions(connections: Sequence[Connection]) -> dict[int, set[int]]:
    """API -> its versions."""
    found: dict[int, set[int]] = {}
    for connection in connections:
        for api_key, version in connection.versions.items():
            found.setdefault(api_key, set()).add(version)
    return found


def _sends(profile: Profile, versions: Mapping[int, set[int]]) -> bool:
    """Whether the profile explains all the versions, towards brokers of one release."""
    if not profile.releases:
        return all(sent <= set(profile.versions[api]) for api, sent in versions.items() if api in profile.versions)
    compared = [(api, sent) for api, sent in versions.items() if api in _COLUMN]
    return any(all(sent <= _possible(profile, release, api) for api, sent in compared) for release in profile.releases)


def _possible(profile: Profile, release: tuple[int, ...], api: int) -> set[int]:
    """The versions of the API that the library sends to brokers of the release."""
    limit = release[_COLUMN[api]]
    if profile.versions:
        implemented = profile.versions.get(api)
        if implemented is None:
            return set(range(limit + 1))
        limit = max((v for v in implemented if v <= limit), default=-1)
    fallback = WITHOUT_TOPIC_IDS.get(api)
    return {limit} if fallback is None or limit < fallback else {limit, fallback}


def _is_contradicted(profile: Profile, connections: Sequence[Connection]) -> bool:
    """Whether a connection begins as those of the library never do. connections: in order of time."""
    begun = [c for c in connections if c.opened_in_capture and c.ids and c.versions]
    if any(not _may_greet(profile, c, is_first=c is connections[0]) for c in begun):
        return True
    if profile.first_id is None:
        return _counts_per_connection(connections)
    if profile.first_id > 0:
        return any(c.ids[0][1] == 0 for c in begun)
    return bool(begun) and begun[0] is connections[0] and begun[0].ids[0][1] > 0


def _may_greet(profile: Profile, connection: Connection, *, is_first: bool) -> bool:
    """Whether a connection of the library may begin with the request that this one begins with."""
    first_api, version = next(iter(connection.versions.items()))
    if first_api == api_keys.API_VERSIONS:
        if profile.sasl_greeting is not None and connection.sasl_mechanism is not None:
            return version == profile.sasl_greeting
        return version in profile.greetings
    return profile.greets == NEVER or (profile.greets != EVERY and is_first == (profile.greets == BUT_FIRST))


def _counts_per_connection(connections: Sequence[Connection]) -> bool:
    """Whether the correlation ids show one counter for each connection: two connections have ids in common, or two that
    were used at one time have consecutive ids each."""
    seen: set[int] = set()
    until_ns = 0
    for connection in sorted((c for c in connections if c.ids), key=lambda c: c.ids[0]):
        ids = {correlation_id for _, correlation_id in connection.ids}
        if ids & seen:
            return True
        seen |= ids
        if len(ids) >= MIN_IDS and is_consecutive(connection):
            if connection.ids[0][0] < until_ns:
                return True
            until_ns = max(until_ns, connection.ids[min(len(connection.ids), COMPARED_IDS) - 1][0])
    return False
