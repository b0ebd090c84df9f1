"""The ids that a report prints, and the kind of thing that each one names.

An id may be shortened to its beginning, with or without its prefix, as long as no other id begins so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.near_names import did_you_mean
from kafkascope_analyzer.dataset.table_rows import has_table, scan
from kafkascope_analyzer.report.formatting import safe
from kafkascope_analyzer.report.missing_stories import NO_STORIES
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.versions import MOST_INT32, parse_number
from kafkascope_spark.stories.tables import (
    CLIENTS,
    FINDINGS,
    INCIDENTS,
    REBALANCES,
    RECOVERIES,
    STALLS,
    STARTUPS,
    TRANSACTIONS,
)

CLIENT, INCIDENT, STALL, FINDING, RECOVERY = "client", "incident", "stall", "finding", "recovery"
CAUSE, START, REBALANCE, TRANSACTION = "cause", "start", "rebalance", "transaction"
_TABLES = (
    (INCIDENT, INCIDENTS, "incident_id"),
    (STALL, STALLS, "stall_id"),
    (FINDING, FINDINGS, "finding_id"),
    (RECOVERY, RECOVERIES, "recovery_id"),
    (CAUSE, RECOVERIES, "cause_id"),
    (START, STARTUPS, "startup_id"),
    (REBALANCE, REBALANCES, "rebalance_id"),
    (CLIENT, CLIENTS, "client_instance_id"),
    (TRANSACTION, TRANSACTIONS, "transactional_id"),
)
"""Kinds of things that can be explained, with the table and the column that hold their ids."""
SHORTEST_ID = 4
"""Fewest characters of an id after its prefix that may stand for it when no other id begins with them."""
MOST_ALIKE = 5
"""Most ids that the error lists when the given beginning is that of several."""
MOST_EXAMPLES = 4


@dataclass(frozen=True, slots=True)
class Identity:
    """An id of the dataset. number: of one transaction; None for all transactions of a transactional id."""

    kind: str
    id: str
    number: int | None = None


def has_id(dataset: Dataset, name: str) -> bool:
    """Whether something has exactly this id. Raises UsageError where there are no stories."""
    known = _known(dataset, ())
    transaction, _, number = name.rpartition(":")
    return name in known or (number.isdecimal() and known.get(transaction) == TRANSACTION)


def identity_of(dataset: Dataset, name: str, *kinds: str, others: Sequence[str] = ()) -> Identity:
    """Returns the identity that the name, or the beginning of an id, stands for. kinds: only these kinds; others:
    further names that the user could have meant. Raises UsageError where there are no stories, no such id, or several.
    """
    known = _known(dataset, kinds)
    if name in known:
        return Identity(known[name], name)
    transaction, _, number = name.rpartition(":")
    transaction_no = parse_number(number, MOST_INT32)
    if transaction_no is not None and known.get(transaction) == TRANSACTION:
        return Identity(TRANSACTION, transaction, transaction_no)
    alike = sorted(identity for identity in known if _begins(identity, name))
    if len(alike) == 1:
        return Identity(known[alike[0]], alike[0])
    shown = safe(name)
    if alike:
        some = ", ".join(safe(one) for one in alike[:MOST_ALIKE]) + (", ..." if len(alike) > MOST_ALIKE else "")
        raise UsageError(f"{dataset}: {shown} is ambiguous: {len(alike)} ids begin so ({some}); give more of it")
    near = did_you_mean(name, [*others, *known])
    what = f"nothing called {shown}" if others else f"no {_wanted(kinds)} with the id {shown}"
    raise UsageError(f"{dataset} has {what}{near}; {_examples(known)}")


def _known(dataset: Dataset, kinds: tuple[str, ...]) -> dict[str, str]:
    """Returns id -> kind of all ids. Raises UsageError where there are no stories."""
    if not has_table(dataset, CLIENTS):
        raise UsageError(f"{dataset}: {NO_STORIES}")
    return dict(_ids(dataset, kinds))


def _ids(dataset: Dataset, kinds: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yields (id, kind) of all ids; where two kinds share an id, the earlier kind counts."""
    for kind, table, column in reversed(_TABLES):
        if not kinds or kind in kinds:
            for batch in scan(dataset, table, [column]):
                yield from ((identity, kind) for identity in batch.column(column).to_pylist() if identity)


def _begins(identity: str, name: str) -> bool:
    """Whether the name is a prefix of the id, with or without the id's own kind prefix, and long enough to stand for
    it."""
    prefix, dash, rest = identity.partition("-")
    whole = name.startswith(prefix + dash) if dash else False
    shorter = name[len(prefix) + 1 :] if whole else name
    return len(shorter) >= SHORTEST_ID and (rest if dash else identity).startswith(shorter)


def _wanted(kinds: tuple[str, ...]) -> str:
    named = [kind for kind, _, _ in _TABLES if not kinds or kind in kinds]
    return f"{', '.join(named[:-1])} or {named[-1]}" if len(named) > 1 else named[0]


def _examples(known: dict[str, str]) -> str:
    first: dict[str, str] = {}
    for identity, kind in sorted(known.items()):
        first.setdefault(kind, identity)
    some = [f"{kind} {safe(first[kind])}" for kind, _, _ in _TABLES if kind in first][:MOST_EXAMPLES]
    return f"it has, for example, {', '.join(some)}" if some else "it has none"
