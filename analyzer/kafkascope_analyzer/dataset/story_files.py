"""Names of the files that a run of the stories writes."""

import uuid


def new_run_id() -> str:
    """Returns a unique identifier for one run of the stories, which is part of its files' names."""
    return uuid.uuid4().hex[:12]


def story_file(name: str, run_id: str, part: int, number: int = 0) -> str:
    """Returns the path of a story file in the dataset: `stories/clients/part-00003-001-<run_id>.parquet`.

    name: `stories/clients`; run_id: see `new_run_id`; part: the Spark partition; number: number of the file in it.
    """
    return f"{name}/part-{part:05d}-{number:03d}-{run_id}.parquet"
