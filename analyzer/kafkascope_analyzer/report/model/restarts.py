"""Restarts of brokers by time, from the stories: the release before and after each, and how long clients waited because
of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stall_limit import limit_text
from kafkascope_analyzer.report.formatting import clock, count, list_of, safe, span
from kafkascope_analyzer.report.model.incidents.families import Family, families_of
from kafkascope_analyzer.report.model.incidents.load import Facts, load_facts
from kafkascope_analyzer.report.model.incidents.model import INFO
from kafkascope_analyzer.report.model.incidents.waits import who_waited
from kafkascope_analyzer.report.model.presence import presence
from kafkascope_analyzer.report.model.topology import CaptureTimes, Topology, topology_model
from kafkascope_analyzer.report.plain import arguments_of
from kafkascope_analyzer.report.rows import read
from kafkascope_spark.stories.restarts.table import BrokerRestart
from kafkascope_spark.stories.stalls.table import Stall
from kafkascope_spark.stories.tables import BROKER_RESTARTS

MOST_RESTARTS = 100
MOST_CLIENTS = 20


@dataclass(frozen=True, slots=True)
class Restart:
    """One restart of one broker."""

    node_id: Annotated[int | None, "node id of the broker; null where only its address is known"]
    broker: Annotated[str, "the broker in words"]
    begin_ns: Annotated[int, "when the first leader or coordinator moved away, else when its connections ended"]
    down_ns: Annotated[
        int, "time at which its connections ended; where only its release shows the restart, when it was last seen"
    ]
    back_ns: Annotated[int | None, "time at which it served a client again; null where the capture does not show that"]
    at: Annotated[str, "down_ns after the capture's start"]
    lasted: Annotated[str, "from down_ns to back_ns in words"]
    release_before: Annotated[str | None, "release of Kafka before, from the versions that it offered (ApiVersions)"]
    release_after: Annotated[str | None, "release of Kafka afterwards"]
    is_upgrade: Annotated[bool, "whether the two are known and differ"]
    release: Annotated[str, "both releases in words, and whether it came back in another mode (KRaft or ZooKeeper)"]
    n_clients: Annotated[int, "clients that waited because of it"]
    clients: Annotated[tuple[str, ...], "names of the first 20 of them"]
    n_stalls: Annotated[int, "stalls because of it"]
    longest_ms: Annotated[int | None, "the longest of these stalls; null where there is none"]
    is_over: Annotated[bool, "whether all of these stalls were over when the capture ended"]
    cost: Annotated[str, "the clients that waited and for how long, in words"]
    incident_ids: Annotated[tuple[str, ...], "incidents that these stalls belong to; the broker's own first"]
    in_incidents: Annotated[
        bool, "whether an incident above severity info covers this restart, so that it is shown there"
    ]

    @property
    def in_short(self) -> str:
        """The duration of the restart and the release after it, for use with its incident."""
        return f"down at {self.at}, {'not back' if self.back_ns is None else f'for {self.lasted}'}; {self.release}"


@dataclass(frozen=True, slots=True)
class Restarts:
    """All restarts by time."""

    present: Annotated[bool, "whether the dataset has the table of restarts"]
    why_not: Annotated[str | None, "why the dataset lacks it, and what to do"]
    n: Annotated[int, "restarts"]
    n_upgrades: Annotated[int, "restarts after which a broker had another release"]
    sentence: Annotated[str, "how many, in which order, and whether releases changed; empty where there is none"]
    listed: Annotated[tuple[Restart, ...], "restarts by time, at most 100"]

    @property
    def alone(self) -> "Restarts":
        """The restarts that no incident above severity info covers, with the sentences about all restarts."""
        listed = tuple(restart for restart in self.listed if not restart.in_incidents)
        return replace(self, n=self.n - len(self.listed) + len(listed), listed=listed)


@dataclass(frozen=True, slots=True)
class ClusterHistory(Topology):
    """Changes of the cluster, including restarts of brokers."""

    restarts: Restarts


@dataclass(frozen=True, slots=True)
class Upgrades:
    """The restarts alone, with facts about the cluster."""

    capture: CaptureTimes
    mode: str | None
    sentence: str | None
    restarts: Restarts


def load_restarts(dataset: Dataset) -> Restarts:
    """Loads the restarts in a dataset. Raises UsageError where a table cannot be read."""
    facts = load_facts(dataset)
    return restarts_of(dataset, facts, families_of(facts))


def load_history(dataset: Dataset) -> ClusterHistory:
    """Loads the changes of the cluster. Raises UsageError where a table cannot be read."""
    return ClusterHistory(**arguments_of(topology_model(dataset)), restarts=load_restarts(dataset))


def load_upgrades(dataset: Dataset) -> Upgrades:
    """Loads the restarts alone. Raises UsageError where a table cannot be read."""
    model = load_history(dataset)
    return Upgrades(model.capture, model.mode, model.sentence, model.restarts)


def restarts_of(dataset: Dataset, facts: Facts, families: Iterable[Family]) -> Restarts:
    """Returns the restarts in the stories. families: all incidents. Raises UsageError where the table
    cannot be read."""
    here, stalls = presence(dataset, BROKER_RESTARTS), {stall.stall_id: stall for stall in facts.stalls}
    found = sorted(read(dataset, BrokerRestart), key=lambda row: (row.down_ns, row.subject, row.incident_id or ""))
    grave = {row.incident_id for family in families if family.severity != INFO for row in family.members}
    made = [
        replace(
            _restart(row, [stalls[name] for name in row.stalls if name in stalls], facts),
            in_incidents=row.incident_id in grave,
        )
        for row in found
    ]
    n_upgrades = sum(restart.is_upgrade for restart in made)
    return Restarts(
        **arguments_of(here),
        n=len(made),
        n_upgrades=n_upgrades,
        sentence=_sentence(made, n_upgrades),
        listed=tuple(made[:MOST_RESTARTS]),
    )


def _restart(row: BrokerRestart, stalls: list[Stall], facts: Facts) -> Restart:
    """Returns a restart from its row. stalls: the stalls of the row."""
    names = list(dict.fromkeys(safe(who_waited(stall, facts)) for stall in stalls))
    return Restart(
        node_id=row.node_id,
        broker=safe(row.subject),
        begin_ns=row.begin_ns,
        down_ns=row.down_ns,
        back_ns=row.back_ns,
        at=clock(row.down_ns - facts.start_ns),
        lasted="not back" if row.back_ns is None else span((row.back_ns - row.down_ns) // 1000),
        release_before=row.release_before,
        release_after=row.release_after,
        is_upgrade=row.is_upgrade,
        release=_release(row.release_before, row.release_after) + _other_mode(row.mode_before, row.mode_after),
        n_clients=len(names),
        clients=tuple(names[:MOST_CLIENTS]),
        n_stalls=len(stalls),
        longest_ms=row.longest_ms,
        is_over=row.is_over,
        cost=_cost(row, names, facts),
        incident_ids=(*([row.incident_id] if row.incident_id else []), *row.other_incidents),
        in_incidents=False,
    )


def _release(before: str | None, after: str | None) -> str:
    if before is None and after is None:
        return "not known"
    if before is None or after is None or before == after:
        return f"Kafka {before or after}"
    return f"Kafka {before} → {after}"


def _other_mode(before: str | None, after: str | None) -> str:
    """Returns `, ZooKeeper → KRaft` where a broker came back in the other mode: the last step of a
    migration (KIP-866)."""
    return "" if before is None or after is None or before == after else f", {before} → {after}"


def _cost(row: BrokerRestart, names: list[str], facts: Facts) -> str:
    """Returns the clients that waited: `3 clients, longest 11.9 s (risk.calc-2)`. names: the names of these clients,
    the longest stall first."""
    if row.longest_ms is None or not names:
        return f"nobody waited {limit_text(facts.stall_ms)} or longer"
    longest = span(1000 * row.longest_ms)
    several = f"{count(len(names), 'client')}, longest {longest} ({names[0]})"
    text = several if len(names) > 1 else f"{names[0]} for {longest}"
    return text if row.is_over else f"{text}, not over when the capture ended"


def _sentence(restarts: list[Restart], n_upgrades: int) -> str:
    if not restarts:
        return ""
    names = [str(r.broker if r.node_id is None else r.node_id) for r in restarts]
    if len(restarts) == 1:
        text = f"Node {names[0]} went down once" if restarts[0].node_id is not None else f"{names[0]} went down once"
    else:
        text = f"Brokers went down {len(restarts):,} times, in the order {list_of(names, 12)}"
    if n_upgrades:
        return f"{text}; {count(n_upgrades, 'restart')} changed the release."
    return f"{text}; no release changed." if any(r.release_after for r in restarts) else f"{text}."
