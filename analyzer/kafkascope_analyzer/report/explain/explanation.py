"""Explains what an id or a name stands for."""

from collections.abc import Callable, Mapping

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.explain.client import explain_client
from kafkascope_analyzer.report.explain.groups import explain_rebalance, explain_transaction
from kafkascope_analyzer.report.explain.identities import (
    CAUSE,
    CLIENT,
    FINDING,
    INCIDENT,
    REBALANCE,
    RECOVERY,
    STALL,
    START,
    TRANSACTION,
    Identity,
    has_id,
    identity_of,
)
from kafkascope_analyzer.report.explain.incidents import explain_finding, explain_incident, explain_stall
from kafkascope_analyzer.report.explain.model import Explanation
from kafkascope_analyzer.report.explain.names import explain_name, names_of
from kafkascope_analyzer.report.explain.recovery import explain_recovery
from kafkascope_analyzer.report.explain.start import explain_start

_EXPLAINERS: dict[str, Callable[[Dataset, Identity], Explanation]] = {
    INCIDENT: explain_incident,
    STALL: explain_stall,
    FINDING: explain_finding,
    RECOVERY: explain_recovery,
    CAUSE: explain_recovery,
    START: explain_start,
    REBALANCE: explain_rebalance,
    CLIENT: explain_client,
    TRANSACTION: explain_transaction,
}


def explain(dataset: Dataset, name: str, rules: Mapping[str, str]) -> Explanation:
    """The explanation of what has this id or name (names.py; rules: name -> title), else of what has an id that begins
    so. Raises UsageError where nothing has it, or several things."""
    if not has_id(dataset, name):
        named = names_of(dataset, rules)
        found = explain_name(dataset, name, named)
        if found is not None:
            return found
        identity = identity_of(dataset, name, others=named.all())
    else:
        identity = identity_of(dataset, name)
    return _EXPLAINERS[identity.kind](dataset, identity)
