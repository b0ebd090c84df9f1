"""`kafkascope timeline`: what happened in order of time; or starts, or one recovery, as waterfalls. Starts no Spark for
a dataset.
"""

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kafkascope_analyzer.cli.clusters import Cluster, of_cluster, one_cluster
from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.fail_on import end_without_kafka
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import Format, FormatOption, From, To
from kafkascope_analyzer.cli.show import show_model
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset
    from kafkascope_analyzer.report.model.chronology import Wanted

MOST_NAMED = 10
"""Names that the sentence about an unknown one lists."""


def timeline(
    place: Annotated[
        str,
        typer.Argument(
            metavar="CAPTURE|OUT.kscope",
            help="A dataset; or a capture, which is read into a temporary dataset first.",
            show_default=False,
        ),
    ],
    start_id: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="With --start: this start alone, by its startup_id.", show_default=False),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option(
            "--client",
            metavar="ID",
            help="Only this client: its client id or client_instance_id; may be repeated.",
            show_default=False,
        ),
    ] = None,
    node: Annotated[
        list[int] | None,
        typer.Option(
            "--node", metavar="N", help="Only this broker, by its node id; may be repeated.", show_default=False
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="NAME", help="Only this group; may be repeated.", show_default=False),
    ] = None,
    start: From = None,
    end: To = None,
    starts: Annotated[
        bool, typer.Option("--start", help="Instead: starts of clients as waterfalls, step by step, or the one of ID.")
    ] = False,
    recovery: Annotated[
        str | None,
        typer.Option("--recovery", metavar="ID", help="Instead: one recovery, by its recovery_id.", show_default=False),
    ] = None,
    cluster: Cluster = None,
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
) -> None:
    """Show what happened in order of time: incidents, stalls, broker states, rebalances, moves, starts and ends.

    With --format json, a line of JSON for each. --start and --recovery draw waterfalls instead.
    """
    messages = Messages.of(format)
    with exit_codes(messages):
        from kafkascope_analyzer.cli.temporary import dataset_with_stories

        clients, nodes, groups = client or [], node or [], group or []
        _check(starts, start_id, recovery, bool(clients), bool(nodes or groups or start or end))
        with dataset_with_stories(place, messages) as whole:
            dataset = one_cluster(of_cluster(whole, cluster))
            if recovery is not None:
                _recovery(dataset, recovery, format)
            elif starts:
                _starts(dataset, start_id, clients, format)
            else:
                _known(dataset, nodes, groups)
                _chronology(dataset, _wanted(dataset, clients, nodes, groups, (start, end)), format)
            end_without_kafka(dataset)


def _check(starts: bool, start_id: str | None, recovery: str | None, of_client: bool, filtered: bool) -> None:
    if start_id is not None and not starts:
        raise UsageError(f"{start_id}: an ID goes with --start")
    if starts and recovery is not None:
        raise UsageError("--start and --recovery are two different pictures: give one")
    if recovery is not None and of_client:
        raise UsageError("--recovery is one client's already: leave --client out")
    if start_id is not None and of_client:
        raise UsageError("--start ID is one client's already: leave --client out")
    if filtered and (starts or recovery is not None):
        raise UsageError("--node, --group, --from and --to filter the chronology: leave --start and --recovery out")


def _known(dataset: "Dataset", nodes: list[int], groups: list[str]) -> None:
    """Raises UsageError where the dataset knows nothing of a node or group: no connection, no client, no event."""
    from kafkascope_analyzer.dataset.near_names import did_you_mean
    from kafkascope_analyzer.report.explain.names import names_of
    from kafkascope_analyzer.report.formatting import safe
    from kafkascope_analyzer.report.model.chronology import Wanted, chronology

    if not nodes and not groups:
        return
    named, entries = names_of(dataset, {}), chronology(dataset, Wanted())
    known_nodes = {*named.brokers.values(), *(node for entry in entries for node in entry.nodes)}
    known_groups = {*named.groups, *(group for entry in entries for group in entry.groups)}
    for node in nodes:
        if node not in known_nodes:
            some = ", ".join(map(str, sorted(known_nodes)[:MOST_NAMED])) or "none"
            raise UsageError(f"--node {node}: {dataset} has no such broker; its node ids: {some}")
    for group in groups:
        if group not in known_groups:
            some = ", ".join(map(safe, sorted(known_groups)[:MOST_NAMED])) or "none"
            near = did_you_mean(group, known_groups)
            raise UsageError(f"--group {safe(group)}: {dataset} has no such group{near}; its groups: {some}")


def _wanted(
    dataset: "Dataset", clients: list[str], nodes: list[int], groups: list[str], span: tuple[str | None, str | None]
) -> "Wanted":
    from kafkascope_analyzer.dataset.durations import parse_moment
    from kafkascope_analyzer.dataset.table_rows import capture_span
    from kafkascope_analyzer.report.model.chronology import Wanted
    from kafkascope_analyzer.report.model.starts import clients_of

    first_ns, _ = capture_span(dataset)
    options = zip(span, ("--from", "--to"), strict=True)
    begin, end = (None if text is None else parse_moment(text, name).since_epoch(first_ns) for text, name in options)
    if begin is not None and end is not None and begin > end:
        raise UsageError("--from is after --to")
    found = frozenset(c.client_instance_id for c in clients_of(dataset, clients)) if clients else None
    return Wanted(found, frozenset(nodes) or None, frozenset(groups) or None, begin, end)


def _chronology(dataset: "Dataset", wanted: "Wanted", format: Format) -> None:  # noqa: A002 - as above
    from kafkascope_analyzer.report.model.chronology import chronology
    from kafkascope_analyzer.report.plain import plain
    from kafkascope_analyzer.report.terminal.chronology import render_chronology
    from kafkascope_analyzer.report.terminal.page import width_of, write_parts

    entries = chronology(dataset, wanted)
    if format is Format.json:
        for entry in entries:
            sys.stdout.write(json.dumps(plain(entry), ensure_ascii=True) + "\n")
        return
    width = width_of(sys.stdout) if sys.stdout.isatty() else None
    write_parts(render_chronology(entries, width), sys.stdout, plain=format is Format.plain, wrap=width is not None)


def _starts(dataset: "Dataset", start_id: str | None, clients: list[str], format: Format) -> None:  # noqa: A002 - as above
    from kafkascope_analyzer.report.explain.identities import START, identity_of
    from kafkascope_analyzer.report.model.starts import starts_model
    from kafkascope_analyzer.report.terminal.start_waterfall import render_timeline

    only = None if start_id is None else identity_of(dataset, start_id, START).id
    model = starts_model(dataset, clients, only)
    show_model(model, render_timeline(model), format)


def _recovery(dataset: "Dataset", name: str, format: Format) -> None:  # noqa: A002 - as above
    from kafkascope_analyzer.report.explain.identities import RECOVERY, identity_of
    from kafkascope_analyzer.report.model.episode import episode_model
    from kafkascope_analyzer.report.terminal.recovery_waterfall import render_recovery

    model = episode_model(dataset, identity_of(dataset, name, RECOVERY).id)
    show_model(model, render_recovery(model), format)
