"""Transactions that are not completed, while others wait for them.

Looks at CONCURRENT_TRANSACTIONS and UNSTABLE_OFFSET_COMMIT that last, and at the markers that brokers write. Could be
confused with a coordinator that is busy completing the last transaction, which takes some milliseconds; and with a
failed broker that cannot take the marker, which explains it. Proved by the last stable offset, which does not move.
"""

import shlex
from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.texts.refusals import Refusal, refusal_kind


def _concurrent(failure: Failure, observed: Observed) -> Iterable[Action]:
    nodes = sorted({row.old_node_id for row in failure.recoveries if row.old_node_id is not None})
    where = f" (the coordinator, {listed([f'node {node}' for node in nodes])}, logs which)" if nodes else ""
    name = shlex.quote(failure.subject)
    yield brokers(
        f"See what the transaction before waits for: kafka-transactions.sh {observed.tool} describe --transactional-id "
        f"{name}. It is complete when the leader of each of its partitions has its marker: one without a leader, or a "
        f"broker that the coordinator does not reach, holds it open{where}."
    )
    yield clients("Nothing has to change there: a restart of the producer waits for the same.")


def _unstable(_: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        "Find the transaction that commits offsets of this group and is not ended: kafka-transactions.sh "
        f"{observed.tool} list, and describe of each that is Ongoing, PrepareCommit or PrepareAbort; one that no "
        "producer ends is aborted when its timeout is over, or by kafka-transactions.sh abort."
    )
    yield clients(
        "Start the producer of that transaction again with the same transactional id, which ends it; the consumer goes "
        "on by itself then."
    )


TRANSACTION_PENDING = refusal_kind(
    "transaction_pending",
    "transaction not completed",
    "transaction",
    {
        "CONCURRENT_TRANSACTIONS": Refusal(
            "the coordinator has not completed the transaction before it, and lets nothing new begin", _concurrent
        ),
        "UNSTABLE_OFFSET_COMMIT": Refusal(
            "a transaction that commits offsets of the group is not ended, so that nobody knows where to go on",
            _unstable,
        ),
    },
    own_clients=False,
)
