"""The recoveries of one cause together: whom they concerned, their errors, how they ended, and the worst of them."""

from collections import Counter
from dataclasses import dataclass

import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import CLIENTS, RECOVERIES
from kafkascope_analyzer.dataset.table_rows import one_of, rows
from kafkascope_analyzer.report.recovery_outcomes import NOT_RECOVERED, affected_since
from kafkascope_analyzer.report.words import count, list_of, outcome_text, safe

NAMED = 4
_COLUMNS = ["recovery_id", "client_instance_id", "resource_kind", "first_error_name", "error_names", "outcome"]
_COLUMNS += ["n_errors", "n_wasted_requests", "start_ns", "failing_ns", "recovered_ns", "time_to_recover_ms"]
_RESOURCES = {"partition": "partition", "group": "group membership", "transaction": "transactional id"}


@dataclass(frozen=True, slots=True)
class Cause:
    """The recoveries of one cause."""

    cause_id: str
    n_recoveries: int
    clients: tuple[str, ...]
    n_brokers: int
    resources: dict[str, int]
    errors: tuple[str, ...]
    outcomes: dict[str, int]
    n_errors: int
    n_wasted_requests: int
    start_ns: int
    end_ns: int
    worst_recovery_id: str

    @property
    def affected(self) -> str:
        """Who was affected, and what of theirs: `2 clients (svc, reader): 4 partitions`."""
        who = [f"{count(len(self.clients), 'client')} ({list_of(list(self.clients), NAMED)})"] if self.clients else []
        who += [count(self.n_brokers, "broker's client", "brokers' clients")] if self.n_brokers else []
        what = [count(n, _RESOURCES.get(kind, kind)) for kind, n in self.resources.items()]
        return f"{' and '.join(who) or 'nobody'}: {', '.join(what)}"

    @property
    def ended(self) -> str:
        """How the recoveries ended: `4 recovered, 1 still open`."""
        return ", ".join(f"{n:,} {outcome_text(outcome)}" for outcome, n in self.outcomes.items())


def load_cause(dataset: Dataset, cause_id: str) -> Cause:
    """The cause. Raises ValueError where no recovery has it."""
    found = list(rows(dataset, RECOVERIES, _COLUMNS, ds.field("cause_id") == cause_id))
    ids = sorted({row["client_instance_id"] for row in found})
    names = ["client_instance_id", "client_id", "client_ip", "kind"]
    clients = {row["client_instance_id"]: row for row in rows(dataset, CLIENTS, names, one_of(names[0], ids))}
    brokers = {identity for identity in ids if clients.get(identity, {}).get("kind") == "broker"}

    def weight(row: dict[str, object]) -> tuple[bool, bool, int, str]:
        took = row["time_to_recover_ms"] or 0
        is_open = row["outcome"] in NOT_RECOVERED
        return row["client_instance_id"] in brokers, not is_open, -int(str(took)), str(row["recovery_id"])

    affected = [clients.get(identity, {}) for identity in ids if identity not in brokers]
    return Cause(
        cause_id=cause_id,
        n_recoveries=len(found),
        clients=tuple(safe(client.get("client_id") or client.get("client_ip") or "?") for client in affected),
        n_brokers=len(brokers),
        resources=dict(sorted(Counter(row["resource_kind"] or "connection" for row in found).items())),
        errors=tuple(sorted({error for row in found for error in row["error_names"] or ()})),
        outcomes=dict(sorted(Counter(row["outcome"] or "still_open" for row in found).items())),
        n_errors=sum(row["n_errors"] or 0 for row in found),
        n_wasted_requests=sum(row["n_wasted_requests"] or 0 for row in found),
        start_ns=min(affected_since(row) for row in found),
        end_ns=max(row["recovered_ns"] or row["start_ns"] or 0 for row in found),
        worst_recovery_id=min(found, key=weight)["recovery_id"],
    )
