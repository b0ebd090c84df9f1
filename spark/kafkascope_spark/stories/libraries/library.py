"""Properties of client libraries as data: how a library is recognised, its names of settings, its start, its intervals,
and its reactions to errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafkascope_spark.stories.libraries.versions import FIRST_MODERN, RELEASES
from kafkascope_spark.stories.recoveries.reaction import Reaction

EVERY, FIRST, BUT_FIRST, NEVER = "every", "first", "but_first", "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Behaviour on the wire of one release of a library, or of several with the same behaviour.

    A client sends the highest version of an API that both sides support. RELEASES has the versions that brokers
    support; a profile has those that a library implements. Java clients implement the versions that the brokers of
    their release support.
    """

    greets: str
    """Which of its connections begin with ApiVersions: EVERY one, at least the FIRST, all BUT_FIRST, or NEVER one."""
    greetings: frozenset[int] = frozenset()
    """Versions of that request. From version 3 on it carries the software name."""
    sasl_greeting: int | None = None
    """Version of ApiVersions on connections with SASL; None if SASL makes no difference."""
    first_id: int | None
    """The correlation id of the first request on a connection to a broker that it was not connected to before. None:
    any, as one counter numbers the requests of all connections."""
    versions: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """API -> versions that it implements, if not all up to the highest; if the versions do not depend on the broker,
    those that it sends."""
    releases: tuple[tuple[int, ...], ...] = RELEASES[FIRST_MODERN:]
    """Releases of brokers whose versions may limit it, or, for the Java client, which it implements; empty if it sends
    `versions` to all brokers. Brokers before 2.1 are left out, because several libraries behave the same towards
    them."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting. default: as in its documentation; None if texts need not mention it."""

    name: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Advice for a library that uses versions that Kafka 4.0 removed (KIP-896). title: name of the library; least: its
    first release that supports the versions of Kafka 4.0, None if unknown; setting: setting with which a new release
    still uses old versions, None if there is none."""

    title: str
    least: tuple[int, ...] | None
    setting: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A client library."""

    name: str
    title: str = ""
    """Its name in texts, if it differs from name."""
    software_names: tuple[str, ...] = ()
    """Prefixes of the software name in ApiVersions (KIP-511). The first is also the name in the table `clients` if
    behaviour shows the library."""
    profiles: tuple[Profile, ...] = ()
    """Profiles by which a client without a software name is recognised."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """Purpose of a setting -> the setting. The Java client has all purposes (java.py)."""
    optional_steps: frozenset[str] = frozenset()
    """Steps of a start that depend on its settings or release, and on nothing else in other libraries."""
    repeated_steps: frozenset[str] = frozenset()
    """Steps of a start that it takes more than once without a failure."""
    counts_over_connections: bool = False
    """Whether one counter numbers the requests of all connections of a client."""
    has_seed_connection: bool = False
    """Whether it has a separate first connection for discovering the cluster, and others for its work."""
    commit_ms: int | None = None
    """Interval of automatic commits in ms; None if it has none."""
    metadata_ms: int = 300_000
    """Interval of Metadata refreshes in ms."""
    reactions: Mapping[str, Mapping[str, Reaction]] = field(default_factory=dict)
    """API (`Name`, or `Name/transactional` for a producer with a transactional id) -> error -> reaction, if it is more
    specific than the general one (reactions_any)."""
    upgrade: Upgrade | None = None
    tls_library: str | None = None
    """TLS library that it uses by default, one of TLS_LIBRARIES."""

    @property
    def shown(self) -> str:
        """Its name in texts."""
        return self.title or self.name
