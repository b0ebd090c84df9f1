"""The one SQL statement in which all detectors run: their queries, with the shared queries and tables they need."""

import re
from collections.abc import Iterator, Mapping
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
    queries = [_facts_query(key, detector) for key, detector in detectors.items()]
    names = list(_dependencies(" ".join(queries)))
    shared = [f"{name} as ({SHARED_QUERIES[name]})" for name in names if name in SHARED_QUERIES]
    sources = {name: _source(tables, name) for name in names if name not in SHARED_QUERIES}
    tables_first = [f"{name} as (select * from {{{name}}})" for name in sources]
    rest = ", ".join(["", *shared]) + " " + " union all ".join(queries)
    escaped = rest.replace("{", "{{").replace("}", "}}")
    first_ns, last_ns = tables.dataset.capture_span or (0, 0)
    span = {"capture_first_ns": first_ns, "capture_last_ns": last_ns}
    return tables.session.sql(f"with {', '.join(tables_first)}{escaped}", args=span, **sources)


def _facts_query(key: str, detector: Detector) -> str:
    """The query of a detector with the rows that it reads, in the form that all detectors share."""
    reads = ", ".join(
        f"{name} as ({read.query(_name_of(read.source))})"
        for name, read in detector.reads.items()
        if name not in SHARED_QUERIES
    )
    query = f"with {reads} select * from ({detector.query})" if reads else detector.query
    return f"select '{key}' as detector, client_instance_id, {_AS_JSON} as facts from ({query})"


def _name_of(source: Table | Messages) -> str:
    """The name of the table, or of the messages among MESSAGES, in the statement."""
    if isinstance(source, Table):
        return source.name
    return next(name for name, messages in MESSAGES.items() if messages is source)


def _dependencies(query: str) -> Iterator[str]:
    """The tables, messages and shared queries that a query needs, each once, after what it needs itself."""
    seen: set[str] = set()

    def visit(text: str) -> Iterator[str]:
        for name in selected_names(text):
            if name in seen or not (name in SHARED_QUERIES or name in TABLES or name in MESSAGES):
                continue
            seen.add(name)
            yield from visit(SHARED_QUERIES.get(name, ""))
            yield name

    return visit(query)


def selected_names(query: str) -> list[str]:
    """The names after `from` and `join` in a query."""
    return _SELECTED.findall(query)


def _source(tables: "Tables", name: str) -> "DataFrame":
    if name in MESSAGES:
        return tables.messages(MESSAGES[name].name, MESSAGES[name].columns)
    return tables[TABLES[name]]
