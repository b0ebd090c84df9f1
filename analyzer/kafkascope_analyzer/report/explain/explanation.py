"""Explains the thing that an id or a name stands for."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import capture_span
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
from kafkascope_analyzer.report.formatting import safe
from kafkascope_analyzer.report.model.restricted import restricted_to
from kafkascope_parsers.errors import UsageError

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
    """Explains the thing that has this id or name (names.py; rules: name -> title), else the one whose id begins with
    it. For a restricted dataset the explanation first says what the dataset is restricted to. Raises UsageError where
    nothing matches, or several things do."""
    if not has_id(dataset, name):
        named = names_of(dataset, rules)
        found = explain_name(dataset, name, named)
        if found is not None:
            return _restricted(dataset, found)
        _check_inside(dataset, name, rules)
        identity = identity_of(dataset, name, others=named.all())
    else:
        identity = identity_of(dataset, name)
    return _restricted(dataset, _EXPLAINERS[identity.kind](dataset, identity))


def _check_inside(dataset: Dataset, name: str, rules: Mapping[str, str]) -> None:
    """Raises UsageError where the thing with this id or name exists, but the restriction excludes it."""
    everything = dataset.unrestricted
    if dataset.restriction is None or not (has_id(everything, name) or name in names_of(everything, rules).all()):
        return
    raise UsageError(f"{dataset}: {safe(name)} does not concern what was asked for: ask for it alone, or for more")


def _restricted(dataset: Dataset, found: Explanation) -> Explanation:
    restricted = restricted_to(dataset, capture_span(dataset)[0])
    if restricted is None:
        return found
    return replace(found, sentences=[f"Restricted to {restricted.text}.", *found.sentences])
