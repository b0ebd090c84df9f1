"""The leader that the responses of a run name (KIP-951), where all of them name the same one."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.requests.error_runs import NO_RUN, ErrorRuns
from kafkascope_analyzer.scan.unanswered import request_numbers

_KEY = ["run", "topic", "partition"]
_SCHEMA = pa.schema(
    [
        ("run", pa.int64()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("least", pa.int32()),
        ("largest", pa.int32()),
        ("n", pa.int64()),
    ]
)


class RunHints:
    """Aggregates the leaders in responses, batch by batch: one row per run, topic and partition."""

    def __init__(self, runs: ErrorRuns) -> None:
        self._runs = runs
        self._found = _SCHEMA.empty_table()

    def add(self, partitions: pa.Table) -> None:
        """Takes rows of `partitions` of responses."""
        run = self._runs.run_of(request_numbers(partitions))
        if (run == NO_RUN).all():
            return
        leader = pc.coalesce(flat(partitions["leader_id"]), flat(partitions["current_leader_id"]))
        failed = pc.not_equal(flat(partitions["error_code"]).fill_null(0), 0)
        chosen = pc.and_(pc.and_(failed, pc.greater_equal(leader.fill_null(-1), 0)), pa.array(run != NO_RUN))
        topic = partitions["topic"].cast(pa.string())
        columns = [pa.array(run), topic, partitions["partition"], leader, leader, pa.array(np.ones(len(run), np.int64))]
        more = pa.table(columns, _SCHEMA.names).filter(chosen).cast(_SCHEMA)
        both = pa.concat_tables([self._found, more]).group_by(_KEY, use_threads=False)
        found = both.aggregate([("least", "min"), ("largest", "max"), ("n", "sum")])
        names = [*_KEY, "least_min", "largest_max", "n_sum"]
        self._found = found.select(names).rename_columns(_SCHEMA.names)

    def leaders(
        self, runs: np.ndarray[tuple[int], np.dtype[np.int64]], topic: pa.Array, partition: pa.Array
    ) -> pa.Array:
        """Returns the leader of each run, topic and partition; null where responses name none, or not all
        the same one."""
        n = (self._runs.last - self._runs.first)[runs] + 1
        place = pa.array(np.arange(len(runs)))
        wanted = pa.table([pa.array(runs), topic, partition, pa.array(n), place], [*_KEY, "of", "place"])
        found = wanted.join(self._found, _KEY, join_type="left outer", use_threads=False).sort_by("place")
        all_the_same = pc.and_(pc.equal(found["least"], found["largest"]), pc.equal(found["n"], found["of"]))
        return flat(pc.if_else(all_the_same.fill_null(False), found["least"], pa.scalar(None, pa.int32())))
