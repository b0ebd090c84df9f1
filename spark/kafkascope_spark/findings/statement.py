"""The queries of detectors as DataFrames: one SQL statement for each detector and for each shared query that it needs.

A shared query is analyzed once, whoever selects from it. One statement for all detectors would be analyzed as a whole,
again and again: that takes several times as long.
"""

import re
from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.stories import STORY_TABLES
from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_spark.findings.read import Messages
from kafkascope_spark.findings.rule import Detector
from kafkascope_spark.findings.shared_queries import MESSAGES, SHARED_QUERIES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kafkascope_spark.tables import Tables

TABLES: Mapping[str, Table] = {table.name: table for table in (*INGEST_TABLES, *STORY_TABLES)}
_SELECTED = re.compile(r"\b(?:from|join)\s+(\w+)")
_AS_JSON = "to_json(struct(*), map('ignoreNullFields', 'false'))"


def facts(tables: "Tables", detectors: Mapping[str, Detector]) -> "DataFrame":
    """The facts of all detectors: detector (its key in detectors), client_instance_id, facts (the row of the
    detector's query as JSON). Lazy."""
    frames = QueryFrames(tables)
    each = [frames.facts_of(key, detector) for key, detector in detectors.items()]
    return reduce(lambda one, other: one.union(other), each)


class QueryFrames:
    """The tables, messages and shared queries of one dataset as DataFrames, each made once."""

    def __init__(self, tables: "Tables") -> None:
        self._tables = tables
        self._shared: dict[str, DataFrame] = {}

    def facts_of(self, key: str, detector: Detector) -> "DataFrame":
        """The facts of one detector (see `facts`)."""
        reads = {
            name: read.query(_name_of(read.source))
            for name, read in detector.reads.items()
            if name not in SHARED_QUERIES
        }
        select = f"select '{key}' as detector, client_instance_id, {_AS_JSON} as facts from ({detector.query})"
        return self._run(select, reads)

    def _run(self, query: str, reads: Mapping[str, str]) -> "DataFrame":
        """The result of a query. reads: other queries that it selects from, by name."""
        names = dict.fromkeys(selected_names(" ".join((query, *reads.values()))))
        sources = {name: frame for name in names if (frame := self._source(name)) is not None}
        query, aliases = _with_own_aliases(query)
        first = [f"{alias} as (select * from {{{name}}})" for alias, name in aliases.items()]
        first += [f"{name} as (select * from {{{name}}})" for name in sources if name not in SHARED_QUERIES]
        first += [f"{name} as ({_escaped(read)})" for name, read in reads.items() if name in names]
        span = {"capture_first_ns": self._tables.capture_ns[0], "capture_last_ns": self._tables.capture_ns[1]}
        statement = f"with {', '.join(first)} select * from ({_escaped(query)})"
        return self._tables.session.sql(statement, args=span, **sources)

    def _source(self, name: str) -> "DataFrame | None":
        """The table, messages or shared query of that name; None where there is none."""
        if name in SHARED_QUERIES:
            if name not in self._shared:
                self._shared[name] = self._run(SHARED_QUERIES[name], {})
            return self._shared[name]
        if name in MESSAGES:
            return self._tables.messages(MESSAGES[name].name, MESSAGES[name].columns)
        return self._tables[TABLES[name]] if name in TABLES else None


def selected_names(query: str) -> list[str]:
    """The names after `from` and `join` in a query."""
    return _SELECTED.findall(query)


def _with_own_aliases(query: str) -> tuple[str, dict[str, str]]:
    """The query in which each reference to a shared query has a name of its own, and what each of these names means.

    Spark computes a common table expression with collect_set or collect_list apart, with a shuffle, when two references
    name it: more than it costs to compute a small one twice.
    """
    aliases: dict[str, str] = {}

    def named(match: re.Match[str]) -> str:
        name = match[1]
        if name not in SHARED_QUERIES:
            return match[0]
        alias = f"{name}_{len(aliases)}"
        aliases[alias] = name
        return match[0].removesuffix(name) + alias

    return _SELECTED.sub(named, query), aliases


def _escaped(query: str) -> str:
    """The query with its braces as SparkSession.sql wants them, which takes single ones for names of DataFrames."""
    return query.replace("{", "{{").replace("}", "}}")


def _name_of(source: Table | Messages) -> str:
    """The name of the table, or of the messages among MESSAGES, in a statement."""
    if isinstance(source, Table):
        return source.name
    return next(name for name, messages in MESSAGES.items() if messages is source)
