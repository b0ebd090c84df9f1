"""The schema facts on disk: the fields of each message in each version, from Kafka's own definitions.

The files in facts/ are made by scripts/make_schemas.py from the message definitions in kafka-clients jars (newest 4.x;
3.9 for the versions that 4.0 dropped). A definition covers one unbroken range of versions of one message. Files are
read at their first use.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Direction = Literal["request", "response"]
LATEST = 32767
"""An open range "N+" ends here, as in Kafka's Versions class."""


@dataclass(frozen=True, slots=True)
class Versions:
    """An inclusive range of versions; empty if low > high."""

    low: int
    high: int

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high


NO_VERSIONS = Versions(0, -1)


def parse_versions(text: str | None) -> Versions:
    """Parse Kafka's "N", "A-B", "N+" or "none"; None is none."""
    if text is None or text == "none":
        return NO_VERSIONS
    first, dash, last = text.partition("-")
    if first.endswith("+"):
        return Versions(int(first[:-1]), LATEST)
    return Versions(int(first), int(last if dash else first))


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """One field of a definition. `type` is without the "[]" of arrays; `flexible` is None where the field follows its
    message."""

    name: str
    type: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int
    flexible: Versions | None
    entity_type: str | None
    fields: tuple["FieldFacts", ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """The fields of one message for a range of its versions, and the release that defines them."""

    source: str
    versions: Versions
    flexible: Versions
    fields: tuple[FieldFacts, ...]


@dataclass(frozen=True, slots=True)
class ApiFacts:
    """One line of the index: an API key with its versions; flexible_from is -1 if no version is flexible."""

    api_key: int
    name: str
    min_version: int
    max_version: int
    flexible_from: int


def read_facts(name: str) -> Any:
    """The parsed JSON of one file of facts."""
    return json.loads((files(__package__) / "facts" / f"{name}.json").read_text("utf-8"))


def _field(raw: dict[str, Any]) -> FieldFacts:
    return FieldFacts(
        name=raw["name"],
        type=raw["type"].removeprefix("[]"),
        is_array=raw["type"].startswith("[]"),
        versions=parse_versions(raw["versions"]),
        nullable=parse_versions(raw.get("nullableVersions")),
        tagged=parse_versions(raw.get("taggedVersions")),
        tag=raw.get("tag", -1),
        flexible=parse_versions(raw["flexibleVersions"]) if "flexibleVersions" in raw else None,
        entity_type=raw.get("entityType"),
        fields=tuple(_field(f) for f in raw.get("fields", ())),
    )


def _definitions(raw: list[dict[str, Any]]) -> tuple[Definition, ...]:
    return tuple(
        Definition(
            source=d["source"],
            versions=parse_versions(d["versions"]),
            flexible=parse_versions(d["flexibleVersions"]),
            fields=tuple(_field(f) for f in d["fields"]),
        )
        for d in raw
    )


@cache
def load_index() -> dict[int, ApiFacts]:
    """Every API that the facts know, by key, ascending."""
    rows = read_facts("apis")["apis"]
    return {r["api_key"]: ApiFacts(r["api_key"], r["name"], r["min"], r["max"], r["flexible_from"]) for r in rows}


def load_api(api: ApiFacts, direction: Direction) -> tuple[Definition, ...]:
    """The definitions of a request or response, ascending by version."""
    return _definitions(read_facts(f"{api.api_key:03d}_{api.name}")[direction])


def load_former(api: ApiFacts, direction: Direction) -> tuple[Definition, ...]:
    """Returns the layouts that versions of a request or response had in earlier releases, if a later release changed
    them in place."""
    return _definitions(read_facts(f"{api.api_key:03d}_{api.name}").get(f"{direction}_formerly", []))


@cache
def load_loose(name: str) -> tuple[Definition, ...]:
    """The definitions of a header, or of a message that travels inside others, such as ConsumerProtocolSubscription."""
    return _definitions(read_facts(name)["definitions"])


@cache
def loose_names() -> frozenset[str]:
    """Names that load_loose knows."""
    index = {f"{a.api_key:03d}_{a.name}" for a in load_index().values()} | {"apis", "errors"}
    names = {entry.name.removesuffix(".json") for entry in (files(__package__) / "facts").iterdir()}
    return frozenset(names - index)
