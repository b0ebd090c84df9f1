"""A producer that kept a transaction open unusually long, and so held back consumers that read committed records.

Looks at the last stable offset in responses to Fetch requests of such consumers: it stays at the first record of the
transaction while the high watermark goes on. Could be confused with producers whose transactions always take that long,
as those of a job that commits with each of its checkpoints; these hold back their consumers again and again, and are no
incident. Proved by the request that ended the transaction, or by its absence, while its producer was served.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import duration, listed
from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import held_consumers
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.transactions.table import TransactionRow

STILL_OPEN = ("open", "hanging")
"""Outcomes of transactions that nothing ended in the capture."""
_ENDS = {
    "commit": "was committed",
    "abort": "was aborted by its producer",
    "coordinator": "was aborted by the coordinator because it took longer than its timeout",
    "init_producer_id": "was ended when its producer began anew",
}


def _sentence(failure: Failure, when: Times) -> str:
    rows = failure.left_open
    some = f"{'transactions' if len(rows) > 1 else 'transaction'} {_ids(rows)}"
    ended = [end for row in rows[:1] if len(rows) == 1 and (end := _end(row)) is not None]
    held = held_consumers(failure) or "consumers"
    return "; it ".join([f"{failure.subject} kept its {some} open {when.of(failure)}, which held back {held}", *ended])


def _ids(rows: Iterable[TransactionRow]) -> str:
    return listed(sorted({str(row.transactional_id) for row in rows}))


def _end(row: TransactionRow) -> str | None:
    """Returns how the transaction ended, and how long after its begin; None where the capture does not show how."""
    ended = _ENDS.get(row.end_kind or "")
    if row.outcome in STILL_OPEN:
        return "was still open at the end of the capture"
    if ended is None:
        return None
    return ended if row.duration_ms is None else f"{ended} after {duration(row.duration_ms * 1_000_000)}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    rows = failure.left_open
    yield clients(
        f"Find out what {failure.subject} did between its last record and the end of {_ids(rows)}: who reads "
        "committed records gets nothing of these partitions meanwhile, also of other producers. Let it end its "
        "transactions sooner, with less work between begin and commit."
    )
    producers = [observed.client(row.client_instance_id) for row in rows]
    lower = setting("transaction_timeout", {each.library for each in producers if each is not None})
    timeouts = sorted({row.transaction_timeout_ms for row in rows if row.transaction_timeout_ms is not None})
    now = f" (now {listed([str(timeout) for timeout in timeouts])})" if timeouts else ""
    if lower:
        yield clients(
            f"A lower {lower}{now} lets the coordinator abort such a transaction sooner; what the producer wrote in it "
            "is then lost unless it writes it again."
        )


HELD_TRANSACTION = Kind(
    "held_transaction",
    "transaction held consumers back",
    plural="transactions held consumers back",
    sentence=_sentence,
    advice=_advice,
    known="the last stable offset in responses to Fetch, and the request that ended the transaction",
    place="client",
)
