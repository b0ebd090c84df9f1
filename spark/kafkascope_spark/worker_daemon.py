"""The process that Spark's Python workers are forked from, with what they need loaded once.

Spark's own (pyspark.daemon) loads nothing, so that each worker reads pyarrow and the stories' modules for itself:
more than a second of processor and 60 MB each. It shies away from threads that run at the time of a fork; here there
are none but jemalloc's, which pyarrow brings and which knows forks. What is loaded is frozen: a worker's garbage
collector does not touch, and so copy, the pages it shares. Named by `spark.python.daemon.module` in the embedded
session only: a cluster's workers may lack this package until they are given it.
"""

import gc

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

from kafkascope_analyzer.dataset.hidden_pandas import arrow_without_pandas

if __name__ == "__main__":
    arrow_without_pandas()  # before anything loads pyarrow.dataset, which would load pandas
    import kafkascope_spark.story_job
    import kafkascope_spark.write_stories  # noqa: F401

    gc.collect()
    gc.freeze()
    manager()
