"""What distinguishes one client library from another, as data: how it is recognised, what it calls its settings, how it
starts, how often it does what it repeats, and how it reacts to errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafkascope_spark.stories.libraries.versions import FIRST_MODERN, RELEASES
from kafkascope_spark.stories.recoveries.reaction import Reaction

EVERY, FIRST, BUT_FIRST, NEVER = "every", "first", "but_first", "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How a release of a library, or several that behave alike, show on the wire.

    A client sends the highest version of an API that both sides support. RELEASES has what brokers support; a profile
    has what a library implements. Java clients implement what the brokers of their release support.
    """

    greets: str
    """Which of its connections begin with ApiVersions: EVERY, at least its FIRST, all BUT_FIRST, or NEVER any."""
    greetings: frozenset[int] = frozenset()
    """Versions of that request. From version 3 on it carries the software name."""
    sasl_greeting: int | None = None
    """Its only version on a connection with SASL; None where SASL makes no difference."""
    first_id: int | None
    """The correlation id of the first request on a connection to a broker that it was not connected to before. None:
    any, as one counter numbers the requests of all connections."""
    versions: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """API -> the versions that it implements, where not all up to the highest; where the versions do not depend on the
    broker, those that it sends."""
    releases: tuple[tuple[int, ...], ...] = RELEASES[FIRST_MODERN:]
    """What brokers may limit it to, or, of the Java client, what it implements; empty: it sends `versions`, whatever
    the broker supports. Brokers before 2.1 are left out: several libraries are alike towards them."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting. default: as its documentation gives it; None: not worth a word."""

    name: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What to change in the library where it uses versions that Kafka 4.0 removed (KIP-896). title: its name; least:
    its first release that speaks what Kafka 4.0 does, None where that does not say; setting: what makes a new release
    use old versions all the same, None where nothing does."""

    title: str
    least: tuple[int, ...] | None
    setting: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A client library."""

    name: str
    title: str = ""
    """Its name in texts, where that is another one."""
    software_names: tuple[str, ...] = ()
    """How the software name of ApiVersions begins (KIP-511). The first is also the name that the table `clients` gives
    where behaviour shows the library."""
    profiles: tuple[Profile, ...] = ()
    """By these a client is recognised that does not name its software."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """What a setting does -> the setting. The Java client has all that there are (java.py)."""
    optional_steps: frozenset[str] = frozenset()
    """Steps of a start that depend on its settings or release, and on nothing else in other libraries."""
    repeated_steps: frozenset[str] = frozenset()
    """Steps of a start that it takes more than once without a failure."""
    counts_over_connections: bool = False
    """Whether one counter numbers the requests of all connections of a client."""
    has_seed_connection: bool = False
    """Whether it has a separate first connection for discovering the cluster, and others for its work."""
    commit_ms: int | None = None
    """Interval of automatic commits; None where it has none."""
    metadata_ms: int = 300_000
    """Interval of Metadata refreshes."""
    reactions: Mapping[str, Mapping[str, Reaction]] = field(default_factory=dict)
    """API (`Name`, or `Name/transactional` for a producer with a transactional id) -> error -> reaction, where it is
    more exact than that of any client (reactions_any)."""
    upgrade: Upgrade | None = None
    tls_library: str | None = None
    """The TLS library that it uses by default, one of TLS_LIBRARIES."""

    @property
    def shown(self) -> str:
        """Its name in texts."""
        return self.title or self.name
