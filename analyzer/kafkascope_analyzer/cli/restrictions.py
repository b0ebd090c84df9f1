"""`--client`, `--node`, `--group`, `--topic`, `--from`, `--to`: restrict the part of a dataset that a command shows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kafkascope_analyzer.cli.clusters import Cluster, one_cluster, open_dataset
from kafkascope_analyzer.cli.options import From, To
from kafkascope_analyzer.dataset.restriction import Asked
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset

_Names = list[str] | None


@dataclass(frozen=True, kw_only=True)
class Restriction:
    """The options that restrict a command to certain clients, brokers, groups, topics and times."""

    cluster: Cluster = None
    client: Annotated[
        _Names,
        typer.Option(
            "--client",
            metavar="ID",
            help="Only this client: its client id or client_instance_id; may be repeated.",
            show_default=False,
        ),
    ] = None
    group: Annotated[
        _Names, typer.Option("--group", metavar="NAME", help="Only this group; may be repeated.", show_default=False)
    ] = None
    topic: Annotated[
        _Names, typer.Option("--topic", metavar="NAME", help="Only this topic; may be repeated.", show_default=False)
    ] = None
    node: Annotated[
        list[int] | None,
        typer.Option(
            "--node", metavar="N", help="Only this broker, by its node id; may be repeated.", show_default=False
        ),
    ] = None
    start: From = None
    end: To = None

    @property
    def asked(self) -> Asked:
        """The clients, brokers, groups, topics and times in the options."""
        return Asked(self.client, self.node, self.group, self.topic, self.start, self.end)


def open_restricted(uri: str, restriction: Restriction) -> "Dataset":
    """Opens the dataset, limited to one cluster where there are several, with the restriction. Raises UsageError, also
    where no connection matches all of it."""
    dataset, asked = open_dataset(uri, restriction.cluster), restriction.asked
    if asked.is_everything:
        return dataset
    from kafkascope_analyzer.report.explain.restricting import restricted

    found = restricted(one_cluster(dataset), asked)
    if not found.rows("connections"):
        raise UsageError(f"{dataset}: no connection concerns everything that was asked for: ask for less at a time")
    return found
