"""Ingest by the tasks of Spark: the same run as on one machine, whose buckets lie on many.

A first stage reads ranges of captures, a second scans the buckets that come of them through one exchange, the driver
learns the cluster from what they spilled, a third finishes the buckets. Tasks call what the processes of one machine
call (kafkascope_analyzer.workers).

engine        the driver's side: plans, runs the stages, fetches what is learned from
read_stage    a range of a capture becomes rows for each bucket
segment_rows  these rows
scan_stage    the rows of a bucket become message tables and a spill
finish_stage  a spill becomes the other tables
task_files    a task's own folder, and how its files get to the dataset's place
reachable     whether the executors reach the captures and the dataset
"""
