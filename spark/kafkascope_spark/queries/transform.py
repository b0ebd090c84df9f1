"""`findings`: runs all rules and returns their findings as rows of the table. A rule without the data that it needs
finds nothing."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_spark.queries.failing import satisfied_detectors
from kafkascope_spark.queries.finding_rows import SCHEMA, finding_writer
from kafkascope_spark.queries.statement import facts
from kafkascope_spark.stories.findings.causes import causes_in
from kafkascope_spark.stories.findings.file_reads import FileReads
from kafkascope_spark.stories.findings.rule import Detector, Rule
from kafkascope_spark.stories.findings.sql import literals
from kafkascope_spark.stories.tables import CLIENTS, FINDINGS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kafkascope_spark.tables import Tables

FINDING_TASKS = 8
"""Number of tasks that finish the detectors' queries. Each detector has its own partitions, and each task gets the plan
of all: without a limit, the number of tasks would take the time, not the rows."""


def findings(tables: "Tables", rules: Sequence[Rule]) -> "DataFrame":
    """Returns the rows of the table findings (without its `*_ts` columns). Lazy."""
    from kafkascope_spark.read import spark_schema

    detectors = detectors_to_run(tables, rules, FailedParts())
    if not detectors:
        return tables.empty(FINDINGS)
    write = finding_writer(detectors, tables.capture_ns[0], partial(causes_in, tables.dataset))
    return found_facts(tables, detectors).mapInArrow(write, spark_schema(SCHEMA))


def found_facts(tables: "Tables", detectors: Mapping[str, tuple[Rule, Detector]]) -> "DataFrame":
    """Returns the facts of these detectors (statement.facts), without those that another rule explains, with the
    software name of their client, in one partition, because a finding may be a consequence of any incident. Lazy.

    It is one statement: with separate steps, such as unions of two, Spark would process the plan of all detectors each
    time.
    """
    each = facts(tables, {key: detector for key, (_, detector) in detectors.items()})
    frames = {f"facts_{number}": frame for number, frame in enumerate(each)}
    union = " union all ".join(f"select * from {{{name}}}" for name in frames)
    explained = _explained({key: rule for key, (rule, _) in detectors.items()})
    statement = f"""
        select found.detector, software.software_name, found.facts
        from (select *, {explained} as is_explained from ({union})) found
        left join {{software}} software on software.client_instance_id = found.client_instance_id
        where not found.is_explained"""
    frames["software"] = tables.columns(CLIENTS, ["client_instance_id", "software_name"])
    joined = tables.session.sql(statement, args=None, **frames)
    return joined.coalesce(FINDING_TASKS).repartition(1)


def detectors_to_run(
    tables: "Tables", rules: Iterable[Rule], failed_parts: FailedParts, file_reads: FileReads | None = None
) -> dict[str, tuple[Rule, Detector]]:
    """Returns the detectors whose preconditions the dataset satisfies, with their rules, by a key. failed_parts:
    collects rules whose preconditions raise an error; file_reads: see Preconditions."""
    every = {f"{rule.name}/{n}": (rule, detector) for rule in rules for n, detector in enumerate(rule.detectors)}
    satisfied = satisfied_detectors(tables.dataset, every, failed_parts, file_reads)
    return {key: found for key, found in every.items() if satisfied[key]}


def _explained(rules: Mapping[str, Rule]) -> str:
    """Returns Spark SQL for whether another rule's facts about the same client explain those of a detector
    (Rule.unless).

    rules: the key of each detector, and its rule.
    """
    conditions = ["false"]
    for rule in {rule.name: rule for rule in rules.values()}.values():
        mine = [key for key, other in rules.items() if other.name == rule.name]
        explaining = [key for key, other in rules.items() if other.name in rule.unless]
        if explaining:
            explained = f"max(detector in {literals(explaining)}) over (partition by client_instance_id)"
            conditions.append(f"(detector in {literals(mine)} and client_instance_id is not null and {explained})")
    return " or ".join(conditions)
