"""Tables that every query can use and that are not part of a dataset: Kafka's API versions, properties of client
libraries, and the owners that the user named.
"""

from functools import cache
from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Table, flag, i16, text
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.schema.releases import api_releases
from kafkascope_spark.stories.libraries.registry import LIBRARIES

API_VERSIONS = Table(
    "api_versions",
    "version of an API",
    (
        i16("api_key", "API key"),
        text("api_name", "API name"),
        i16("api_version", "version"),
        text("first_release", "release of Kafka that brought it"),
        flag("in_4_0", "whether Kafka 4.0 has it, or it is newer; false: removed (KIP-896)"),
        i16("lowest_in_4_0", "lowest version that 4.0 has; null where the API is gone from it, or newer"),
    ),
)
LIBRARY_NAMES = Table(
    "libraries",
    "name by which a client library calls itself",
    (
        text("software_name", "how the software name of ApiVersions begins"),
        text("title", "the library's name in texts"),
        text("least_for_4_0", "its first release that speaks what Kafka 4.0 does; null where that does not say"),
    ),
)
LIBRARY_SETTINGS = Table(
    "library_settings",
    "setting of a client library",
    (
        text("software_name", "how the software name of ApiVersions begins"),
        text("what", "what the setting does: the same word for all libraries"),
        text("setting", "the library's name of it"),
        text("default_value", "its default, as the library's documentation gives it"),
    ),
)
OWNERS = Table(
    "owners",
    "line of the file of --owners",
    (
        text("owner", "who owns what the pattern fits"),
        text("pattern", "glob of client ids, principals, groups or addresses"),
    ),
)
REFERENCE_TABLES = (API_VERSIONS, LIBRARY_NAMES, LIBRARY_SETTINGS, OWNERS)
MOST_OWNERS = 100_000
"""Most lines of a file of owners; a longer file is not accepted as one."""


def reference_tables(owners: pa.Table | None = None) -> dict[str, pa.Table]:
    """Returns the tables by name. owners: the result of `read_owners`; None: without rows."""
    return _facts() | {OWNERS.name: OWNERS.schema.empty_table() if owners is None else owners}


@cache
def _facts() -> dict[str, pa.Table]:
    versions: list[tuple[object, ...]] = []
    for key, api in api_releases().items():
        left = api.spoken["4.0"]
        lowest = None if left.low > left.high else left.low
        for version, release in api.first_release.items():
            versions.append((key, api.name, version, release, version not in api.removed_in_4_0, lowest))
    names: list[tuple[object, ...]] = []
    settings: list[tuple[object, ...]] = []
    for each in LIBRARIES:
        title, least = (each.upgrade.title, each.upgrade.least) if each.upgrade else (each.shown, None)
        least_text = None if least is None else ".".join(map(str, least))
        for name in each.software_names:
            names.append((name, title, least_text))
            settings += [(name, what, setting.name, setting.default) for what, setting in each.settings.items()]
    rows: dict[Table, list[tuple[object, ...]]] = {
        API_VERSIONS: versions,
        LIBRARY_NAMES: names,
        LIBRARY_SETTINGS: settings,
    }
    return {table.name: _table(table, found) for table, found in rows.items()}


def _table(table: Table, rows: list[tuple[object, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(table.columns)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, table.schema, strict=True)], schema=table.schema
    )


def read_owners(file: Path) -> pa.Table:
    """Reads the owners from a text file with lines `owner: glob`; `#` begins a comment. A glob is compared with client
    ids, principals, groups and addresses, as in `payments: pay-*`. Raises UsageError.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--owners {file}: {getattr(error, 'strerror', None) or error}") from error
    found: list[tuple[object, ...]] = []
    for number, line in enumerate(lines, 1):
        owner, colon, pattern = (part.strip() for part in line.partition("#")[0].partition(":"))
        if not (owner or colon or pattern):
            continue
        if not (owner and pattern):
            raise UsageError(f"{file}, line {number}: expected `owner: glob`, as in `payments: pay-*`")
        found.append((owner, pattern))
    if not found:
        raise UsageError(f"{file}: names no owner; expected lines `owner: glob`")
    if len(found) > MOST_OWNERS:
        raise UsageError(f"{file}: names {len(found):,} owners; the limit is {MOST_OWNERS:,}")
    return _table(OWNERS, found)
