"""The process from which Spark's Python workers are forked, with the modules that they need already loaded.

Spark's own daemon (pyspark.daemon) loads nothing, so each worker loads pyarrow and the modules of the stories by
itself: more than a second of processor time and 60 MB each. It avoids threads at the time of a fork; here the only
threads are those of pyarrow's jemalloc, which supports forks. The loaded objects are frozen, so that a worker's garbage
collector does not touch, and thereby copy, the shared pages. Only the embedded session uses it
(`spark.python.daemon.module`): workers of a cluster may lack this package until it is sent to them.
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
