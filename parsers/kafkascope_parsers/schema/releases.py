"""The versions of each API that Kafka releases support: the facts of releases.tsv.

The file is maintained by hand, from the message definitions and request classes of releases 0.8.0 to 4.4.0.
`first_release_of_version` lists version:release for the release that introduced it; a version that is not listed was
introduced with the previous one. A range in_X is the versions that brokers of that release answer; `none`: the release
no longer has the API, `-`: it does not have it yet.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from kafkascope_parsers.schema.facts import NO_VERSIONS, Versions, load_index, parse_versions

_NAMES, *_ROWS = (line.split("\t") for line in (files(__package__) / "releases.tsv").read_text("utf-8").splitlines())
COMPARED_RELEASES = tuple(name[3:].replace("_", ".") for name in _NAMES if name.startswith("in_"))
"""The releases that have a column in_X_Y."""


@dataclass(frozen=True, slots=True)
class ApiReleases:
    """An API's versions by release.

    listeners: listeners that offer it; spoken: supported versions by release (COMPARED_RELEASES), empty if the release
    lacks it; first_release: first release of every version that is decoded; old_names: former names.
    """

    api_key: int
    name: str
    listeners: tuple[str, ...]
    spoken: dict[str, Versions]
    first_release: dict[int, str]
    old_names: str

    @property
    def removed_in_4_0(self) -> tuple[int, ...]:
        """Versions of 3.9 that 4.0 does not have (KIP-896)."""
        before, after = self.spoken["3.9"], self.spoken["4.0"]
        return tuple(v for v in range(before.low, before.high + 1) if v not in after)


def _first_releases(text: str, api_key: int) -> dict[int, str]:
    api, listed = load_index()[api_key], dict(entry.split(":") for entry in text.split())
    out: dict[int, str] = {}
    release = listed[str(api.min_version)]
    for version in range(api.min_version, api.max_version + 1):
        release = out[version] = listed.get(str(version), release)
    return out


@cache
def api_releases() -> dict[int, ApiReleases]:
    """Returns all APIs by key, ascending."""
    out = {}
    for values in _ROWS:
        row = dict(zip(_NAMES, values, strict=True))
        key = int(row["key"])
        spoken = {}
        for release in COMPARED_RELEASES:
            text = row["in_" + release.replace(".", "_")]
            spoken[release] = NO_VERSIONS if text in ("-", "none") else parse_versions(text)
        out[key] = ApiReleases(
            api_key=key,
            name=load_index()[key].name,
            listeners=tuple(row["listeners"].split(",")),
            spoken=spoken,
            first_release=_first_releases(row["first_release_of_version"], key),
            old_names=row["old_names"],
        )
    return out


@cache
def releases() -> tuple[str, ...]:
    """Returns every release of Kafka that introduced a version of an API, oldest first; patch releases introduce
    none."""
    named = {release for api in api_releases().values() for release in api.first_release.values()}
    return tuple(sorted(named, key=lambda release: [int(part) for part in release.split(".")]))
