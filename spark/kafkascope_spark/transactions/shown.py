"""Whether a dataset shows anything of transactions, read from a few columns without a job: it saves the plan
where there is nothing to tell. The table is the same without it."""

import pathlib

import pyarrow.compute as pc

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.tables import PARTITIONS, REQUESTS


def shows_transactions(dataset: pathlib.Path) -> bool:
    """Whether a request names a transactional id."""
    return _any_row(dataset, REQUESTS, pc.field("transactional_id").is_valid())


def shows_held_back(dataset: pathlib.Path) -> bool:
    """Whether an answer shows a last stable offset behind the high watermark: a transaction was open there."""
    stable, high = pc.field("last_stable_offset"), pc.field("high_watermark")
    return _any_row(dataset, PARTITIONS, (stable >= 0) & (high > stable))


def _any_row(dataset: pathlib.Path, table: Table, condition: pc.Expression) -> bool:
    import pyarrow.dataset as ds

    place = dataset / table.name
    if not place.is_dir() or next(place.rglob("*.parquet"), None) is None:
        return False
    found = ds.dataset(place, format="parquet").scanner(filter=condition, columns=[]).head(1)
    return int(found.num_rows) > 0
