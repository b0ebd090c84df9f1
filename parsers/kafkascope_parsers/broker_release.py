"""Determines the Kafka release of a broker from the versions that it offers (ApiVersions).

The table of releases (parsers: releases.tsv) gives the release that introduced each version of each API. A highest
version fits the releases from the one that introduced it to the last one before the next version. The result is the
releases that fit most APIs: not all have to fit, because a broker limits the APIs that it forwards to the controller to
the versions that the controller supports. A broker that is itself a client of a controller sends its release there
(KIP-511). Source: Kafka's message definitions, ApiVersionsResponse.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from kafkascope_parsers.schema import keys_by_name
from kafkascope_parsers.schema.releases import api_releases, releases
from kafkascope_parsers.versions import ApiVersionRange, parse_offered

ZOOKEEPER_MODE, KRAFT_MODE = "ZooKeeper", "KRaft"
_FIRST_WITH_KRAFT = "2.8"
_LEAST_SHARE = 0.9
"""Least share of an offer that a release must fit; else the broker is not Apache Kafka, or of a release that the table
lacks."""
_KEYS = keys_by_name()
Offer = Mapping[int, ApiVersionRange]
"""Offered versions by API key."""


@dataclass(frozen=True, slots=True)
class BrokerRelease:
    """The releases that offer such versions, oldest first, and how the cluster keeps its metadata (None if the offer
    does not show it).
    """

    releases: tuple[str, ...]
    mode: str | None

    @property
    def text(self) -> str:
        """`2.8`, `4.2 or 4.3`, `3.0 to 3.3`."""
        if not self.releases:
            return "unknown"
        first, last = self.releases[0], self.releases[-1]
        if first == last:
            return first
        return f"{first} or {last}" if len(self.releases) == 2 else f"{first} to {last}"


def parse_offer(offered: Iterable[str]) -> dict[int, ApiVersionRange]:
    """Parses an offer from its texts in `connections.api_versions_offered`, such as Fetch:4-17; unknown APIs are left
    out.
    """
    found = (parse_offered(text) for text in offered)
    return {_KEYS[each[0]]: each[1] for each in found if each is not None and each[0] in _KEYS}


def release_of(offer: Offer) -> BrokerRelease:
    """Returns the releases that fit an offer best."""
    n_fitting = [0] * len(releases())
    for key, offered in offer.items():
        first, after = _first_release(key, offered.high), _first_release(key, offered.high + 1)
        if first is not None:
            for place in range(first, len(n_fitting) if after is None else after):
                n_fitting[place] += 1
    most = max(n_fitting)
    if most == 0 or most < _LEAST_SHARE * len(offer):
        return BrokerRelease((), _mode(offer, None))
    fitting = tuple(release for release, n in zip(releases(), n_fitting, strict=True) if n == most)
    return BrokerRelease(fitting, _mode(offer, fitting[-1]))


def named_release(software_version: str) -> BrokerRelease:
    """Returns the release of a broker whose client library has this version, which is the broker's own version."""
    release = ".".join(software_version.split(".")[:2])
    return BrokerRelease((release,) if release in _places() else (), None)


def _mode(offer: Offer, latest: str | None) -> str | None:
    """Returns how metadata is kept. Only brokers in ZooKeeper mode offer the APIs that a ZooKeeper cluster's controller
    sends. latest: the latest release that fits the offer.
    """
    of_zookeeper = {key for key, api in api_releases().items() if api.listeners == ("zkBroker",)}
    if of_zookeeper & set(offer):
        return ZOOKEEPER_MODE
    if latest is None:
        return None
    return ZOOKEEPER_MODE if _places()[latest] < _places()[_FIRST_WITH_KRAFT] else KRAFT_MODE


def _first_release(key: int, version: int) -> int | None:
    """Returns the index in `releases` of the one that introduced a version; None if the table lacks it."""
    api = api_releases().get(key)
    release = api.first_release.get(version) if api is not None else None
    return None if release is None else _places()[release]


@cache
def _places() -> dict[str, int]:
    return {release: place for place, release in enumerate(releases())}
