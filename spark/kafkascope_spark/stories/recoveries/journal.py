"""What the client did, as its episodes see it; and the journal of what concerns all of them.

A client with thousands of broken topic-partitions asks for Metadata once: that is one entry of the journal, and each
episode reads on from where it was when something happens to itself. Only the first of a kind since then matters to it.
"""

from typing import NamedTuple

from kafkascope_spark.stories.recoveries.states import Trigger


class EpisodeStep(NamedTuple):
    """Something that happened: step name, when, where, and the request that proves it.

    retry_key: what the request believes in (its node; its member id and generation), which shows a retry that changed
    nothing. since_ns: first byte of what failed without an answer. is_reported: whether it is a step of the story.
    api_name: of the request. closed_ns: when the server closed the connection on which the request was sent, where that
    was why it had no response. session_ms: how long its SASL session lasted, where that was over then. of_topic: an
    error about a topic, of which no partition is named.
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
    """A step, and what it is to an episode."""

    trigger: Trigger
    step: EpisodeStep


MOST_ENTRIES = 1_024
"""Entries of a journal; then the open episodes read it, and it begins anew."""


class Journal:
    """Entries in order of time. Positions count all entries ever made."""

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
        """Whether the episodes should read it now."""
        return len(self._entries) >= MOST_ENTRIES

    def add(self, trigger: Trigger, step: EpisodeStep) -> None:
        """One more entry."""
        self._entries.append(Entry(trigger, step))
        if self._read:
            self._read = {}

    def since(self, position: int) -> list[Entry]:
        """The first entry of each step and trigger from the position on, in order; read once for all that ask."""
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
        """When the last of these steps was, from the position on; 0 for none."""
        entries = self._entries[max(0, position - self._dropped) :]
        return max((entry.step.ts_ns for entry in entries if entry.step.name in steps), default=0)

    def clear(self) -> None:
        """Forget all entries: every episode has read them, or none is open."""
        self._dropped += len(self._entries)
        self._entries = []
        self._read = {}
