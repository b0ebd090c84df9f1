"""Makes a dataset with stories for a command that was given a capture, in a temporary folder that is removed at its
end."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.cli.messages import Messages
    from kafkascope_analyzer.dataset.dataset import Dataset


@contextmanager
def dataset_with_stories(place: str, messages: "Messages") -> Iterator["Dataset"]:
    """Yields the dataset at the place; for a capture (a file, a directory, - for standard input) a temporary one.

    Raises UsageError where there is neither, or no Java for the stories of a capture.
    """
    from kafkascope_analyzer.cli.clusters import open_dataset
    from kafkascope_analyzer.dataset.dataset_uri import SUFFIX, is_dataset

    if place != "-" and (place.rstrip("/").endswith(SUFFIX) or is_dataset(place)):
        yield open_dataset(place)
        return
    from kafkascope_analyzer.dataset.temporary_folders import temporary_folder

    with temporary_folder("timeline") as scratch:
        made = scratch / f"capture{SUFFIX}"
        _analyze(place, made, messages)
        yield open_dataset(str(made))


def _analyze(capture: str, made: Path, messages: "Messages") -> None:
    from kafkascope_analyzer.cli.early_session import early_session
    from kafkascope_analyzer.cli.ingest import inputs_of, write_tables
    from kafkascope_analyzer.cli.stories import StoryChoice, spark_problem, write_stories
    from kafkascope_analyzer.dataset.hidden_pandas import arrow_without_pandas
    from kafkascope_analyzer.dataset.new_dataset import NewDataset
    from kafkascope_analyzer.dataset.storage import Storage
    from kafkascope_analyzer.ingest.options import IngestOptions

    arrow_without_pandas()
    inputs = inputs_of([capture])
    problem = spark_problem()
    if problem is not None:
        raise UsageError(f"{capture}: the stories of a capture need Spark and Java 17 or newer. {problem}")
    messages.note("reading the capture into a temporary dataset; kafkascope analyze keeps one")
    with NewDataset(Storage.of(made), made.parent) as new:
        with early_session(inputs, None, wanted=True) as open_meanwhile:
            dataset = write_tables(inputs, new, IngestOptions(), quiet=messages.quiet, after_block=open_meanwhile)
        new.commit(dataset)
    write_stories(made, (None, None), StoryChoice(), quiet=messages.quiet)
