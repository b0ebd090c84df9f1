"""`kafkascope protocol`: prints Kafka's APIs, versions, releases and fields from the schemas."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from kafkascope_analyzer.cli.exits import exit_codes

if TYPE_CHECKING:
    from kafkascope_parsers.schema.facts import Direction, FieldFacts

Api = Annotated[
    str | None,
    typer.Argument(metavar="[API]", help="An API by name or key: its versions and fields.", show_default=False),
]


def protocol(api: Api = None) -> None:
    """Print Kafka's APIs and versions, the releases that support them, and what Kafka 4.0 removed; for one API its
    fields."""
    with exit_codes():
        if api is not None:
            print("\n".join(api_page(api)))
            return
        from kafkascope_analyzer.report.terminal.page import write_aligned

        write_aligned(list(table_rows()), sys.stdout)


def _range(low: int, high: int) -> str:
    return "-" if low > high else str(low) if low == high else f"{low}-{high}"


def _ranges(versions: tuple[int, ...]) -> str:
    return _range(versions[0], versions[-1]) if versions else "-"


def table_rows() -> Iterator[tuple[str, ...]]:
    """Yields the header and one row per API: key, name, decoded versions, first flexible one, releases, removed by 4.0,
    listeners."""
    from kafkascope_parsers.schema import API_VERSION_RANGE, FLEXIBLE_FROM
    from kafkascope_parsers.schema.releases import COMPARED_RELEASES, api_releases

    yield ("key", "API", "decoded", "flexible", *COMPARED_RELEASES, "gone in 4.0", "listeners")
    for key, api in api_releases().items():
        flexible = int(FLEXIBLE_FROM[key])
        spoken = [_range(v.low, v.high) for v in (api.spoken[release] for release in COMPARED_RELEASES)]
        yield (
            str(key),
            api.name,
            _range(*API_VERSION_RANGE[key].tolist()),
            "-" if flexible < 0 else f"{flexible}+",
            *spoken,
            _ranges(api.removed_in_4_0),
            ", ".join(api.listeners),
        )


def releases_of(key: int) -> str:
    """Returns versions with the release that introduced them, as 0-2 0.9.0, 3 1.0."""
    from kafkascope_parsers.schema.releases import api_releases

    by_release: dict[str, list[int]] = {}
    for version, release in api_releases()[key].first_release.items():
        by_release.setdefault(release, []).append(version)
    return ", ".join(f"{_range(versions[0], versions[-1])}: {release}" for release, versions in by_release.items())


def api_page(api: str) -> list[str]:
    """Returns versions and fields of one API. Raises UsageError for a name that Kafka does not have."""
    from kafkascope_analyzer.cli.decode import api_key_of
    from kafkascope_parsers.errors import UsageError
    from kafkascope_parsers.schema.facts import load_api, load_index
    from kafkascope_parsers.schema.releases import api_releases

    key = api_key_of(api)
    facts = load_index().get(key)
    if facts is None:
        raise UsageError(f"no API has the key {key}; `kafkascope protocol` lists them")
    releases = api_releases()[key]
    out = [f"{facts.name}, API key {key}", f"first release of its versions: {releases_of(key)}"]
    if releases.old_names:
        out.append(f"earlier names: {releases.old_names}")
    out.append(f"gone in Kafka 4.0: {_ranges(releases.removed_in_4_0)}")
    directions: tuple[Direction, ...] = ("request", "response")
    for direction in directions:
        for definition in load_api(facts, direction):
            versions = _range(definition.versions.low, definition.versions.high)
            out += ["", f"{facts.name}{direction.capitalize()} v{versions} ({definition.source})"]
            out += _fields(definition.fields, "  ")
    return out


def _fields(fields: "tuple[FieldFacts, ...]", indent: str) -> Iterator[str]:
    from kafkascope_parsers.schema.facts import LATEST

    for field in fields:
        low, high = field.versions.low, field.versions.high
        notes = [f"v{low}+" if high == LATEST else f"v{_range(low, high)}"]
        if field.nullable.low <= field.nullable.high:
            notes.append("nullable" if field.nullable.low <= low else f"nullable from v{field.nullable.low}")
        if field.tag >= 0:
            notes.append(f"tag {field.tag}" + ("" if field.tagged.low <= low else f" from v{field.tagged.low}"))
        yield f"{indent}{field.name}: {'[]' * field.is_array}{field.type} ({', '.join(notes)})"
        yield from _fields(field.fields, indent + "  ")
