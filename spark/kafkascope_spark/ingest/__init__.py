"""Ingest by the tasks of Spark: the same run as on one machine, whose buckets lie on many.

A first stage reads ranges of captures and puts blocks of segments, divided by bucket, into files at the dataset's
place; a second scans the buckets, each of which reads its shares of these files; the driver learns the cluster from
what they spilled; a third finishes the buckets. Spark carries numbers and reports, no payload: that would cost its JVM
more than decoding does. Tasks call what the processes of one machine call (kafkascope_analyzer.workers).

engine        the driver's side: plans, runs the stages, fetches what is learned from
read_stage    a range of a capture becomes files of blocks
block_files   these files
session_buckets  which sessions of TLS are of which bucket, so that its task keeps no other secrets
scan_stage    the shares of a bucket become message tables and a spill
finish_stage  a spill becomes the other tables
report_rows   what a task reports
task_files    a task's own folder, and how its files get to the dataset's place
reachable     whether the executors reach the captures and the dataset
"""
