"""`--client`, `--node`, `--group`, `--topic`, `--from`, `--to`: what of a dataset a command shows."""

from typing import TYPE_CHECKING, Annotated

import typer

from kafkascope_analyzer.cli.clusters import one_cluster, open_dataset
from kafkascope_analyzer.dataset.restriction import Asked
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset

ClientNames = Annotated[
    list[str] | None,
    typer.Option(
        "--client",
        metavar="ID",
        help="Only this client: its client id or client_instance_id; may be repeated.",
        show_default=False,
    ),
]
Nodes = Annotated[
    list[int] | None,
    typer.Option("--node", metavar="N", help="Only this broker, by its node id; may be repeated.", show_default=False),
]
Groups = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="NAME", help="Only this group; may be repeated.", show_default=False),
]
Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="NAME", help="Only this topic; may be repeated.", show_default=False),
]


def open_restricted(uri: str, cluster: str | None, asked: Asked) -> "Dataset":
    """The dataset, of one cluster where there are several, restricted to what was asked for. Raises UsageError, also
    where no connection belongs to all of it."""
    dataset = open_dataset(uri, cluster)
    if asked.is_everything:
        return dataset
    from kafkascope_analyzer.report.explain.restricting import restricted

    found = restricted(one_cluster(dataset), asked)
    if not found.rows("connections"):
        raise UsageError(f"{dataset}: no connection concerns everything that was asked for: ask for less at a time")
    return found
