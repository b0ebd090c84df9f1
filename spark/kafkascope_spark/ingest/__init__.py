"""Ingest by Spark tasks: the same run as on one machine, with its buckets distributed over the executors.

The first stage reads ranges of captures and writes blocks of segments, divided by bucket, into files in the dataset's
storage; the second scans the buckets, each of which reads its shares of these files; the driver learns the cluster from
their spills, and has tasks follow the records through topic-partitions; the last stage finishes the buckets. Spark
transports only numbers and reports, because payload would cost its JVM more than the decoding. Tasks call the same
functions as the processes on one machine (kafkascope_analyzer.workers).

engine        the driver's side: plans, runs the stages, fetches the spills to learn from
read_stage    a range of a capture becomes files of blocks
block_files   the files of blocks
session_buckets  the TLS sessions of each bucket, so that its task keeps no other secrets
scan_stage    the shares of a bucket become message tables and a spill
task_stage    tables of spills become further ones, between the passes
saved_work    what the driver passes to tasks in files
finish_stage  a spill becomes the other tables
report_rows   reports of tasks
task_files    a task's own folder, and the transfer of its files to the dataset's storage
reachable     whether the executors reach the captures and the dataset
"""
