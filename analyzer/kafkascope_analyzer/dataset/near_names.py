"""Names that are like one that does not exist: every command that takes a name says "did you mean" in these words."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

MOST_NAMED = 3
MOST_COMPARED = 5_000
"""Names that are compared at most, and characters of each: names come from the wire, and a comparison takes time that
grows with both lengths."""
LONGEST = 200


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Part of a sentence, ` (did you mean A or B?)`, with the known names that are like the name in any case; empty
    where none is."""
    by_fold: dict[str, str] = {}
    for one in islice(known, MOST_COMPARED):
        if len(one) <= LONGEST:
            by_fold.setdefault(one.casefold(), one)
    wanted = name[:LONGEST].casefold()
    found = [by_fold[near] for near in get_close_matches(wanted, by_fold, MOST_NAMED)]
    return f" (did you mean {' or '.join(found)}?)" if found else ""
