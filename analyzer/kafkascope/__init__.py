"""kafkascope from Python: open a dataset, analyze captures, read tables and the report as objects.

    import kafkascope

    dataset = kafkascope.analyze("capture.pcap")  # or kafkascope.open("capture.kscope")
    dataset["requests"].pandas()
    dataset.sql("select api_name, count(*) as n from requests group by all").polars()
    dataset.report.headline.sentence

A thin layer over what the commands use. Importing it loads no library; each is loaded when it is needed.
"""

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from kafkascope_parsers.errors import CaptureError, DamagedDatasetError, SparkError, UsageError
from kafkascope_spark import __version__

if TYPE_CHECKING:
    from kafkascope.analysis import AnalyzeOptions
    from kafkascope.dataset import Dataset
    from kafkascope.rows import Rows, Table

__all__ = [
    "CaptureError",
    "DamagedDatasetError",
    "Dataset",
    "Rows",
    "SparkError",
    "Table",
    "UsageError",
    "__version__",
    "analyze",
    "open",
]


def open(uri: "str | PathLike[str]", *, cluster: str | None = None) -> "Dataset":  # noqa: A001 - as gzip.open
    """The dataset at a path or URI (file, s3, gs, abfs, hdfs); cluster: only what it has of this cluster, which is
    named as --cluster takes it. Raises UsageError where there is no such dataset or cluster."""
    from kafkascope.dataset import open_dataset

    return open_dataset(uri, cluster)


def analyze(
    captures: "str | PathLike[str] | Sequence[str | PathLike[str]]",
    out: "str | PathLike[str] | None" = None,
    **options: "Unpack[AnalyzeOptions]",
) -> "Dataset":
    """Writes the dataset of captures, as `kafkascope analyze` does, and opens it.

    captures: files, directories, globs or URIs. out: the dataset; without it the first capture's name with .kscope, in
    the current directory. options: those of the command, as `overwrite=True` for --overwrite.

    It runs in a process of its own: no JVM and no setting stays behind. What the command warns of is a Python warning,
    as that there are no stories because Java is missing. Raises CaptureError, UsageError, and SparkError where the
    tables are whole and the stories could not be made.
    """
    from kafkascope.analysis import run_analyze

    return open(run_analyze(captures, out, options))


def __getattr__(name: str) -> Any:
    """The classes of what `open` and `analyze` return, loaded when they are named."""
    from importlib import import_module

    home = {"Dataset": "kafkascope.dataset", "Rows": "kafkascope.rows", "Table": "kafkascope.rows"}.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
