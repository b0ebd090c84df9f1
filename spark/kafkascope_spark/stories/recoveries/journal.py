"""`EpisodeStep`: a step of a client's episodes; `Journal`: the steps that concern all open episodes.

A client with thousands of failing topic-partitions sends one Metadata request: that is one journal entry, and each
episode reads the journal from its last position when one of its own events comes. Only the first entry of each kind
since then matters to it.
"""

from typing import NamedTuple

from kafkascope_spark.stories.recoveries.states import Trigger


class EpisodeStep(NamedTuple):
    """A step: its name, time, connection and node, and the request that proves it.

    retry_key: what the request assumes (its node; its member id and generation); an equal key shows a retry that
    changed nothing. since_ns: first byte of the request that failed without a response. is_reported: whether it becomes
    a row of recovery_steps. api_name: API of the request. closed_ns: when the server closed the connection of the
    request, if it had no response for that reason. session_ms: length of its SASL session, if that was over then.
    of_topic: whether it is an error about a topic without a partition.
    """

    name: str
    ts_ns: int
    conn_id: str | None = None
    node_id: int | None = None
    request_id: str | None = None
    duration_us: int | None = None
    error_name: str | None = None
    retry_key: object = None
    since_ns: int | None = None
    is_reported: bool = True
    api_name: str | None = None
    closed_ns: int | None = None
    session_ms: int | None = None
    of_topic: bool = False


class Entry(NamedTuple):
    """A step, and the trigger that it is for an episode."""

    trigger: Trigger
    step: EpisodeStep


MOST_ENTRIES = 1_024
"""Largest number of journal entries; then all open episodes read the journal, and it is cleared."""


class Journal:
    """Entries in order of time. Positions count all entries ever added."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._dropped = 0
        self._read: dict[int, list[Entry]] = {}

    @property
    def end(self) -> int:
        """Position after the last entry."""
        return self._dropped + len(self._entries)

    @property
    def is_full(self) -> bool:
        """Whether all episodes should read it now."""
        return len(self._entries) >= MOST_ENTRIES

    def add(self, trigger: Trigger, step: EpisodeStep) -> None:
        """Adds an entry."""
        self._entries.append(Entry(trigger, step))
        if self._read:
            self._read = {}

    def since(self, position: int) -> list[Entry]:
        """Returns the first entry of each step and trigger from the position on, in order. The result is cached for
        other episodes at the same position."""
        found = self._read.get(position)
        if found is None:
            seen: set[tuple[str, Trigger]] = set()
            found = []
            for entry in self._entries[max(0, position - self._dropped) :]:
                kind = entry.step.name, entry.trigger
                if kind not in seen:
                    seen.add(kind)
                    found.append(entry)
            self._read[position] = found
        return found

    def last_ns(self, position: int, steps: frozenset[str]) -> int:
        """Returns the time of the last of these steps from the position on; 0 for none."""
        entries = self._entries[max(0, position - self._dropped) :]
        return max((entry.step.ts_ns for entry in entries if entry.step.name in steps), default=0)

    def clear(self) -> None:
        """Removes all entries, which every episode has read, or for which none is open."""
        self._dropped += len(self._entries)
        self._entries = []
        self._read = {}
