"""Restricts a dataset to names and times as people write them, in options of commands or through an assistant."""

from collections.abc import Collection, Sequence

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.durations import parse_moment
from kafkascope_analyzer.dataset.near_names import did_you_mean
from kafkascope_analyzer.dataset.restriction import Asked, Restriction
from kafkascope_analyzer.dataset.table_rows import capture_span, has_table
from kafkascope_analyzer.report.explain.names import names_of
from kafkascope_analyzer.report.formatting import safe
from kafkascope_analyzer.report.model.chronology import chronology
from kafkascope_analyzer.report.model.starts import clients_of
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.tables import CLIENTS

MOST_NAMED = 10
"""Most known names that the error about an unknown name lists."""


def restricted(dataset: Dataset, asked: Asked) -> Dataset:
    """Returns the dataset, which has one cluster, with the rows that match the given names and times, within its own
    restriction. Raises UsageError for a name that the dataset lacks, with the nearest known names, and for a text that
    is not a time.
    """
    found = Restriction(
        tuple(asked.clients or ()),
        tuple(asked.nodes or ()),
        tuple(asked.groups or ()),
        tuple(asked.topics or ()),
        *_times(dataset, asked),
    )
    _check_known(dataset, found)
    return dataset.concerning(found.within(dataset.restriction or Restriction()))


def _times(dataset: Dataset, asked: Asked) -> tuple[int | None, int | None]:
    first_ns, _ = capture_span(dataset)
    options = ((asked.start, "--from"), (asked.end, "--to"))
    begin, until = (None if text is None else parse_moment(text, name).since_epoch(first_ns) for text, name in options)
    if begin is not None and until is not None and begin > until:
        raise UsageError("--from is after --to")
    return begin, until


def _check_known(dataset: Dataset, wanted: Restriction) -> None:
    """Raises UsageError for a name that no client, connection, request or event of the dataset has."""
    if wanted.clients:
        clients_of(dataset, wanted.clients)
    if not (wanted.nodes or wanted.groups or wanted.topics):
        return
    named = names_of(dataset, {})
    nodes, groups = set(named.brokers.values()), set(named.groups)
    if not (nodes.issuperset(wanted.nodes) and groups.issuperset(wanted.groups)):
        more_nodes, more_groups = _in_chronology(dataset)
        nodes, groups = nodes | more_nodes, groups | more_groups
    for node in wanted.nodes:
        if node not in nodes:
            some = ", ".join(map(str, sorted(nodes)[:MOST_NAMED])) or "none"
            raise UsageError(f"--node {node}: {dataset} has no such broker; its node ids: {some}")
    _check_names(dataset, "group", wanted.groups, groups)
    _check_names(dataset, "topic", wanted.topics, named.topics)


def _in_chronology(dataset: Dataset) -> tuple[set[int], set[str]]:
    """Returns the nodes and groups of the chronology, which may have no connection in the capture."""
    entries = chronology(dataset) if has_table(dataset, CLIENTS) else []
    return {node for entry in entries for node in entry.nodes}, {group for entry in entries for group in entry.groups}


def _check_names(dataset: Dataset, kind: str, names: Sequence[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            some = ", ".join(map(safe, sorted(known)[:MOST_NAMED])) or "none"
            near = did_you_mean(name, sorted(known))
            raise UsageError(f"--{kind} {safe(name)}: {dataset} has no such {kind}{near}; its {kind}s: {some}")
