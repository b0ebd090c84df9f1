"""Suggests names similar to one that does not exist: every command that takes a name says "did you mean" in these
words."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

MOST_NAMED = 3
MOST_COMPARED = 5_000
"""Most names that are compared, and most characters of each: names come from the wire, and the time of a comparison
grows with both lengths."""
LONGEST = 200


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns a part of a sentence, ` (did you mean A or B?)`, with similar known names, in any case; empty where there
    are none."""
    by_fold: dict[str, str] = {}
    for one in islice(known, MOST_COMPARED):
        if len(one) <= LONGEST:
            by_fold.setdefault(one.casefold(), one)
    wanted = name[:LONGEST].casefold()
    found = [by_fold[near] for near in get_close_matches(wanted, by_fold, MOST_NAMED)]
    return f" (did you mean {' or '.join(found)}?)" if found else ""
