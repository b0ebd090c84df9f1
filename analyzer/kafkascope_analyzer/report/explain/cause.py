"""The recoveries that have one cause: the affected clients, their errors, how they ended, and the worst of them."""

from collections import Counter
from dataclasses import dataclass

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import one_of
from kafkascope_analyzer.report.formatting import count, list_of, outcome_text, safe
from kafkascope_analyzer.report.model.client_names import named_clients
from kafkascope_analyzer.report.rows import read
from kafkascope_spark.stories.recoveries.table import Recovery

NAMED = 4
_RESOURCES = {"partition": "partition", "group": "group membership", "transaction": "transactional id"}


@dataclass(frozen=True, slots=True)
class Cause:
    """The recoveries that have one cause."""

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
        """The affected clients and resources: `2 clients (svc, reader): 4 partitions`."""
        who = [f"{count(len(self.clients), 'client')} ({list_of(list(self.clients), NAMED)})"] if self.clients else []
        who += [count(self.n_brokers, "broker's client", "brokers' clients")] if self.n_brokers else []
        what = [count(n, _RESOURCES.get(kind, kind)) for kind, n in self.resources.items()]
        return f"{' and '.join(who) or 'nobody'}: {', '.join(what)}"

    @property
    def ended(self) -> str:
        """The outcomes of the recoveries: `4 recovered, 1 still open`."""
        return ", ".join(f"{n:,} {outcome_text(outcome)}" for outcome, n in self.outcomes.items())


def load_cause(dataset: Dataset, cause_id: str) -> Cause:
    """Loads the cause. Raises ValueError where no recovery has it."""
    found = list(read(dataset, Recovery, one_of("cause_id", [cause_id])))
    ids = sorted({row.client_instance_id for row in found})
    clients = named_clients(dataset, ids)
    brokers = {identity for identity, client in clients.items() if client.kind == "broker"}
    by_id = sorted(found, key=lambda row: row.recovery_id)
    affected = [clients.get(identity) for identity in ids if identity not in brokers]
    return Cause(
        cause_id=cause_id,
        n_recoveries=len(found),
        clients=tuple(safe((client and client.name) or "?") for client in affected),
        n_brokers=len(brokers),
        resources=dict(sorted(Counter(row.resource_kind for row in found).items())),
        errors=tuple(sorted({error for row in found for error in row.error_names})),
        outcomes=dict(sorted(Counter[str](row.outcome for row in found).items())),
        n_errors=sum(row.n_errors for row in found),
        n_wasted_requests=sum(row.n_wasted_requests for row in found),
        start_ns=min(row.affected_ns for row in found),
        end_ns=max(row.recovered_ns or row.start_ns for row in found),
        worst_recovery_id=min(by_id, key=lambda row: (row.client_instance_id in brokers, *row.worst_first)).recovery_id,
    )
