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
from kafkascope_analyzer.cli.restrictions import ClientNames, Groups, Nodes, Topics
from kafkascope_analyzer.cli.show import show_model
from kafkascope_analyzer.dataset.restriction import Asked
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset


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
    client: ClientNames = None,
    node: Nodes = None,
    group: Groups = None,
    topic: Topics = None,
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

    --client, --group, --topic, --node, --from and --to restrict it as they do a report. With --format json, a line of
    JSON for each. --start and --recovery draw waterfalls instead.
    """
    messages = Messages.of(format)
    with exit_codes(messages):
        from kafkascope_analyzer.cli.temporary import dataset_with_stories

        asked = Asked(client, node, group, topic, start, end)
        _check(starts, start_id, recovery, not asked.is_everything)
        with dataset_with_stories(place, messages) as whole:
            from kafkascope_analyzer.report.explain.restricting import restricted

            dataset = one_cluster(of_cluster(whole, cluster))
            shown = restricted(dataset, asked)
            if recovery is not None:
                _recovery(shown, recovery, format)
            elif starts:
                _starts(shown, start_id, client or [], format)
            else:
                _chronology(shown, format)
            end_without_kafka(dataset)


def _check(starts: bool, start_id: str | None, recovery: str | None, is_restricted: bool) -> None:
    if start_id is not None and not starts:
        raise UsageError(f"{start_id}: an ID goes with --start")
    if starts and recovery is not None:
        raise UsageError("--start and --recovery are two different pictures: give one")
    if is_restricted and (start_id is not None or recovery is not None):
        one = "--recovery ID" if start_id is None else "--start ID"
        raise UsageError(
            f"{one} is one client's already: leave --client, --node, --group, --topic, --from and --to out"
        )


def _chronology(dataset: "Dataset", format: Format) -> None:  # noqa: A002 - as above
    from kafkascope_analyzer.report.model.chronology import chronology
    from kafkascope_analyzer.report.plain import plain
    from kafkascope_analyzer.report.terminal.chronology import render_chronology
    from kafkascope_analyzer.report.terminal.page import width_of, write_parts

    entries = chronology(dataset)
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
