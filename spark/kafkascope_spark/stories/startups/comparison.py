"""Compares the steps of a start with its expected sequence: which are missing, extra, repeated or out of order."""

from dataclasses import dataclass

from kafkascope_spark.stories.startups.expected import AFTER, Sequence
from kafkascope_spark.stories.startups.path import repeated_steps
from kafkascope_spark.stories.startups.steps import Step


@dataclass(frozen=True, slots=True)
class Comparison:
    """Names of steps; `missing` in the order of the sequence, `extra` and `out_of_order` in the order of the start."""

    missing: list[str]
    extra: list[str]
    repeated: list[str]
    out_of_order: list[str]


def compare(steps: list[Step], sequence: Sequence, *, whole: bool) -> Comparison:
    """The comparison of steps, which are in order of their start, with the sequence.

    whole: whether the capture has the whole start; otherwise no step counts as missing.
    """
    taken = list(dict.fromkeys(s.name for s in steps))
    return Comparison(
        missing=[s for s in sequence.required if s not in taken] if whole else [],
        extra=[s for s in taken if s not in sequence.usual],
        repeated=repeated_steps(steps, sequence.taken_again),
        out_of_order=out_of_order(steps, sequence) if whole and sequence.is_first else [],
    )


def out_of_order(steps: list[Step], sequence: Sequence) -> list[str]:
    """Steps that were first taken before a step on which they depend had succeeded, although it succeeded later."""
    first: dict[str, int] = {}
    done: dict[str, int] = {}
    for step in steps:
        first.setdefault(step.name, step.start_ns)
        if step.outcome == "ok":
            done[step.name] = min(done.get(step.name, step.end_ns), step.end_ns)
    early = []
    for name, began in first.items():
        needed = [n for n in AFTER.get(name, ()) if n in sequence.usual and n in done]
        if any(done[n] > began for n in needed):
            early.append(name)
    return early
