"""The user's selection for the piece. Several values of one kind mean any of them; several kinds mean all of them."""

import shlex
from dataclasses import dataclass

from kafkascope_analyzer.cut.packet_numbers import PacketRange
from kafkascope_analyzer.dataset.durations import NS_PER_S, Moment


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection. margin_ns is added before and after each selected request or window, in nanoseconds."""

    clients: tuple[str, ...] = ()
    connections: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    recoveries: tuple[str, ...] = ()
    startups: tuple[str, ...] = ()
    incidents: tuple[str, ...] = ()
    stalls: tuple[str, ...] = ()
    packets: tuple[PacketRange, ...] = ()
    start: Moment | None = None
    end: Moment | None = None
    margin_ns: int = 0
    whole_connections: bool = False

    @property
    def names_requests(self) -> bool:
        """Whether requests are selected by their properties."""
        return bool(self.apis or self.errors or self.requests or self.groups or self.topics)

    @property
    def names_connections(self) -> bool:
        """Whether connections, or windows of time on them, are selected."""
        return bool(self.clients or self.connections or self.names_stories)

    @property
    def names_stories(self) -> bool:
        """Whether rows of story tables are selected."""
        return bool(self.findings or self.recoveries or self.startups or self.incidents or self.stalls)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is selected."""
        named = self.names_requests or self.names_connections or self.packets
        return not (named or self.start or self.end)

    def words(self) -> str:
        """The selection as command-line options."""
        kinds = {
            "client": self.clients,
            "connection": self.connections,
            "api": self.apis,
            "error": self.errors,
            "request": self.requests,
            "group": self.groups,
            "topic": self.topics,
            "finding": self.findings,
            "recovery": self.recoveries,
            "startup": self.startups,
            "incident": self.incidents,
            "stall": self.stalls,
        }
        said = [f"--{kind} {shlex.quote(value)}" for kind, values in kinds.items() for value in values]
        if self.packets:
            said.append("--packets " + ",".join(str(wanted) for wanted in self.packets))
        said += [f"--{name} {moment.text}" for name, moment in (("from", self.start), ("to", self.end)) if moment]
        if self.margin_ns:
            said.append(f"--margin {self.margin_ns / NS_PER_S:g}")
        return " ".join([*said, "--whole-connections"] if self.whole_connections else said)
