"""`--cluster`: the cluster of a dataset to which a command is limited."""

from typing import TYPE_CHECKING, Annotated

import typer

from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset

Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="NAME",
        help="Only this cluster of a dataset with several: its name, cluster id, or the address of a server.",
        show_default=False,
    ),
]


def open_dataset(uri: str, cluster: str | None = None) -> "Dataset":
    """Opens the dataset, or its part of one cluster, and keeps pyarrow from loading pandas to read it. Raises
    UsageError like Dataset.open, and where it has no such cluster."""
    from kafkascope_analyzer.dataset.hidden_pandas import arrow_without_pandas

    arrow_without_pandas()
    from kafkascope_analyzer.dataset.dataset import Dataset

    return of_cluster(Dataset.open(uri), cluster)


def of_cluster(dataset: "Dataset", cluster: str | None) -> "Dataset":
    """Returns the dataset, or its part of one cluster. Raises UsageError where it has no such cluster."""
    if cluster is None:
        return dataset
    from kafkascope_analyzer.report.model.clusters import cluster_named

    return dataset.of_cluster(cluster_named(dataset, cluster))


def open_one_cluster(uri: str, cluster: str | None) -> "Dataset":
    """Opens the dataset, or its part of one cluster. Raises UsageError also where it has several and none was named:
    the answer would mix their nodes, topics and groups."""
    return one_cluster(open_dataset(uri, cluster))


def one_cluster(dataset: "Dataset") -> "Dataset":
    """Returns the dataset, if it has one cluster. Raises UsageError where it has several."""
    from kafkascope_analyzer.report.model.clusters import has_several, listed

    if has_several(dataset):
        raise UsageError(f"{dataset} has several clusters: choose one with --cluster: {listed(dataset.clusters)}")
    return dataset
