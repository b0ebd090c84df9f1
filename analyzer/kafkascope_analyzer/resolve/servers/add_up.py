"""The task of a bucket: adds up its runs and requests.

First come the rows of the parts that no later run changes, then those of the scan's end. What was found up to then is
saved with the dataset, so that a run to which captures are appended adds only the rows of new parts. It depends on the
numbers of connections, too: if later captures show, for example, that two servers are one process, the sums with
processes are made anew from all parts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkascope_analyzer.resolve.servers.bucket_hosts import BucketHosts
from kafkascope_analyzer.resolve.servers.sums import COLUMNS, SlicesOf, Sum, batch_of, sums_of
from kafkascope_analyzer.resolve.tasks import RunTasks
from kafkascope_analyzer.scan.saved_state import load_state, save_state
from kafkascope_analyzer.scan.spill import END, read_spill, spilled_parts

SAVED_SERVERS = "servers.state"
"""The name of the file of the sums, beside the folders of the spills."""


@dataclass(frozen=True, slots=True)
class AddedUp:
    """found: what each sum has found, by name; state: the same after the last part that no later run changes, with that
    part and the numbers of connections; None where it is not saved."""

    found: dict[str, Any]
    state: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class AddUpBucket:
    """The task of a bucket (resolve.tasks.SpillTask). spill: name of the folder of its spill; saved: the state of an
    earlier run, None without one; is_saved: whether a state is made."""

    spill: str
    hosts: BucketHosts
    slices: SlicesOf
    saved: Mapping[str, Any] | None
    is_saved: bool

    def reads(self) -> list[tuple[str, str]]:
        """Returns the spilled tables that the task needs, with the folder of each."""
        return [(self.spill, name) for name in COLUMNS]

    def __call__(self, folder: Path) -> AddedUp:
        """Adds up the rows of the bucket. folder: the folder of the spills."""
        directory, sums = folder / self.spill, sums_of(self.hosts, self.slices)
        known = -1 if self.saved is None else self.saved["part"]
        anew = self._not_resumed(sums)
        settled = [part for part in spilled_parts(directory, list(COLUMNS)) if part != END]
        for part in settled:
            self._take(directory, part, list(sums.values()) if part > known else anew)
        state = None
        if self.is_saved and settled:
            state = {"part": settled[-1], "numbers": self.hosts.numbers(), "found": _found(sums)}
        self._take(directory, END, list(sums.values()))
        return AddedUp(_found(sums), state)

    def _take(self, directory: Path, part: int, sums: Sequence[Sum]) -> None:
        """Has the sums take the rows of a part."""
        for table, columns in COLUMNS.items():
            mine = [each for each in sums if table == each.TABLE]
            for rows in read_spill(directory, table, columns, part) if mine else ():
                batch = batch_of(table, rows, self.hosts)
                for each in mine:
                    each.take(batch)

    def _not_resumed(self, sums: Mapping[str, Sum]) -> list[Sum]:
        """Has the sums continue from the saved state. Returns those for which it is not valid any more."""
        if self.saved is None:
            return list(sums.values())
        found, before = self.saved["found"], self.saved["numbers"]
        numbers = {space: self.hosts.new_numbers(space, before) for space in {each.space for each in sums.values()}}
        anew = []
        for name, each in sums.items():
            now = numbers[each.space]
            if now is None or not each.resume(found[name], now):
                anew.append(each)
        return anew


def _found(sums: Mapping[str, Sum]) -> dict[str, Any]:
    return {name: each.found() for name, each in sums.items()}


@dataclass(frozen=True, slots=True)
class SumWork:
    """run: runs the tasks; saved: the file of the sums of earlier runs, which is rewritten; None for none."""

    run: RunTasks
    saved: Path | None = None


def add_up(hosts: Mapping[Path, BucketHosts], slices: SlicesOf, work: SumWork) -> Sequence[Mapping[str, Any]]:
    """Returns what the sums have found, bucket by bucket. hosts: by the directory of a bucket's spill. Raises
    UsageError where the saved state is damaged."""
    saved = load_state(work.saved) if work.saved is not None and work.saved.exists() else {}
    tasks = [
        AddUpBucket(spill.name, numbers, slices, saved.get(spill.name), work.saved is not None)
        for spill, numbers in hosts.items()
    ]
    done: list[AddedUp] = work.run(tasks)
    if work.saved is not None:
        states = {task.spill: each.state for task, each in zip(tasks, done, strict=True)}
        save_state(work.saved, {name: state for name, state in states.items() if state is not None})
    return [each.found for each in done]
