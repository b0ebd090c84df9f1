"""`kafkascope timeline`: shows events in order of time; or starts, or one recovery, as waterfalls. Starts no Spark for
a dataset.
"""

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kafkascope_analyzer.cli.clusters import of_cluster, one_cluster
from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.fail_on import end_without_kafka
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import Format, FormatOption
from kafkascope_analyzer.cli.restrictions import Restriction
from kafkascope_analyzer.cli.show import show_model
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset


@dataclass(frozen=True, kw_only=True)
class TimelineArguments(Restriction):
    """The arguments of `kafkascope timeline`."""

    place: Annotated[
        str,
        typer.Argument(
            metavar="CAPTURE|OUT.kscope",
            help="A dataset; or a capture, which is read into a temporary dataset first.",
            show_default=False,
        ),
    ]
    start_id: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="With --start: this start alone, by its startup_id.", show_default=False),
    ] = None
    starts: Annotated[
        bool, typer.Option("--start", help="Instead: starts of clients as waterfalls, step by step, or the one of ID.")
    ] = False
    recovery: Annotated[
        str | None,
        typer.Option("--recovery", metavar="ID", help="Instead: one recovery, by its recovery_id.", show_default=False),
    ] = None
    format: FormatOption = Format.rich


def timeline(given: TimelineArguments) -> None:
    """Show what happened in order of time: incidents, stalls, broker states, rebalances, moves, starts and ends.

    --client, --group, --topic, --node, --from and --to restrict it as they do a report. With --format json, a line of
    JSON for each. --start and --recovery draw waterfalls instead.
    """
    messages = Messages.of(given.format)
    with exit_codes(messages):
        from kafkascope_analyzer.cli.temporary import dataset_with_stories

        _check(given)
        with dataset_with_stories(given.place, messages) as whole:
            from kafkascope_analyzer.report.explain.restricting import restricted

            dataset = one_cluster(of_cluster(whole, given.cluster))
            shown = restricted(dataset, given.asked)
            if given.recovery is not None:
                _recovery(shown, given.recovery, given.format)
            elif given.starts:
                _starts(shown, given)
            else:
                _chronology(shown, given.format)
            end_without_kafka(dataset)


def _check(given: TimelineArguments) -> None:
    """Raises UsageError where options contradict each other."""
    if given.start_id is not None and not given.starts:
        raise UsageError(f"{given.start_id}: an ID goes with --start")
    if given.starts and given.recovery is not None:
        raise UsageError("--start and --recovery are two different pictures: give one")
    if not given.asked.is_everything and (given.start_id is not None or given.recovery is not None):
        one = "--recovery ID" if given.start_id is None else "--start ID"
        raise UsageError(
            f"{one} is one client's already: leave --client, --node, --group, --topic, --from and --to out"
        )


def _chronology(dataset: "Dataset", how: Format) -> None:
    from kafkascope_analyzer.report.model.chronology import chronology
    from kafkascope_analyzer.report.plain import plain
    from kafkascope_analyzer.report.terminal.chronology import render_chronology
    from kafkascope_analyzer.report.terminal.page import width_of, write_parts

    entries = chronology(dataset)
    if how is Format.json:
        for entry in entries:
            sys.stdout.write(json.dumps(plain(entry), ensure_ascii=True) + "\n")
        return
    width = width_of(sys.stdout) if sys.stdout.isatty() else None
    write_parts(render_chronology(entries, width), sys.stdout, plain=how is Format.plain, wrap=width is not None)


def _starts(dataset: "Dataset", given: TimelineArguments) -> None:
    from kafkascope_analyzer.report.explain.identities import START, identity_of
    from kafkascope_analyzer.report.model.starts import starts_model
    from kafkascope_analyzer.report.terminal.start_waterfall import render_timeline

    only = None if given.start_id is None else identity_of(dataset, given.start_id, START).id
    model = starts_model(dataset, given.client or [], only)
    show_model(model, render_timeline(model), given.format)


def _recovery(dataset: "Dataset", name: str, how: Format) -> None:
    from kafkascope_analyzer.report.explain.identities import RECOVERY, identity_of
    from kafkascope_analyzer.report.model.episode import episode_model
    from kafkascope_analyzer.report.terminal.recovery_waterfall import render_recovery

    model = episode_model(dataset, identity_of(dataset, name, RECOVERY).id)
    show_model(model, render_recovery(model), how)
