"""Makes a failing round small: first fewer inputs, then smaller ones, as long as it fails in the same way."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Failing = Callable[[Sequence[Any]], bool]


def fewest(inputs: Sequence[Any], fails: Failing, until: float) -> list[Any]:
    """The fewest inputs that still fail: halves, quarters, ... are left out as long as that does (ddmin)."""
    kept, parts = list(inputs), 2
    while len(kept) > 1 and time.monotonic() < until:
        size = max(1, len(kept) // parts)
        for at in range(0, len(kept), size):
            rest = kept[:at] + kept[at + size :]
            if rest and fails(rest):
                kept, parts = rest, max(2, parts - 1)
                break
        else:
            if size == 1:
                break
            parts *= 2
    return kept


def smallest(one: Any, smaller: Callable[[Any], Iterator[Any]], fails: Failing, until: float) -> Any:
    """The smallest input that still fails, by taking the first smaller one that does, again and again."""
    found = True
    while found and time.monotonic() < until:
        found = False
        for candidate in smaller(one):
            if time.monotonic() > until:
                break
            if fails([candidate]):
                one, found = candidate, True
                break
    return one
