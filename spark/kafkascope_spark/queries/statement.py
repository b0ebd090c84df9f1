"""Runs the queries of detectors as DataFrames: one SQL statement for each detector and for each shared query that it
needs.

Tables, messages and shared queries are temporary views, each made once and only if a query selects from it, so that
Spark analyzes a shared query only once. A single statement for all detectors would be analyzed as a whole again and
again, which takes several times as long.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.dataset.tables.events import EVENTS, KIND_FOLDER
from kafkascope_spark.stories.findings.read import Source, name_of, source_columns
from kafkascope_spark.stories.findings.rule import REQUIRED_FACTS, Detector
from kafkascope_spark.stories.findings.shared_queries import EVENTS_BY_NAME, MESSAGES, SHARED_QUERIES
from kafkascope_spark.stories.tables import STORY_TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kafkascope_spark.tables import Tables

TABLES: Mapping[str, Table] = {table.name: table for table in (*INGEST_TABLES, *STORY_TABLES, *MESSAGES)}
"""The tables and messages that queries may select from, by their name in queries."""
VIEW_PREFIX = "kafkascope_"
"""Prefix of the names of the views: the session may be the user's, with tables and views of the same names."""
_SELECTED = re.compile(r"\b(from|join)\s+(\w+)(?=\s+(?:as\s+)?(\w+)|)")
_NO_ALIAS = re.compile("on|using|where|group|order|having|union|left|right|inner|full|cross|join|lateral|limit")
"""Words that may follow a table's name in a query without being an alias."""
_WORD = re.compile(r"[a-z_][a-z_0-9]*")
REQUIRED_COLUMNS = frozenset(REQUIRED_FACTS)
_SPAN = (":capture_first_ns", ":capture_last_ns")
AS_JSON = "to_json(struct(*), map('ignoreNullFields', 'false'))"
"""Expression for all columns of a row as JSON."""


def facts(tables: "Tables", detectors: Mapping[str, Detector]) -> "list[DataFrame]":
    """Returns the facts of each detector as columns detector (its key in detectors), client_instance_id and facts (the
    row of the detector's query as JSON). Lazy."""
    views = QueryViews(tables, words_of(detectors.values()))
    return [views.facts_of(key, detector) for key, detector in detectors.items()]


class QueryViews:
    """The tables, messages and shared queries of one dataset as temporary views of the session."""

    def __init__(self, tables: "Tables", words: frozenset[str]) -> None:
        self._tables = tables
        self._words = words
        """Makes no view yet. words: words of all queries that will run; a view has only the columns among them, because
        Spark's planning time grows with the columns of a table."""
        self._made: set[str] = set()

    def facts_of(self, key: str, detector: Detector) -> "DataFrame":
        """Returns the facts of one detector (see `facts`)."""
        selected = selected_names(detector.query)
        reads = [
            f"{name} as ({read.query(name_of(read.source))})"
            for name, read in detector.reads.items()
            if name in selected and name not in SHARED_QUERIES
        ]
        first = f"with {', '.join(reads)} " if reads else ""
        select = f"select '{key}' as detector, client_instance_id, {AS_JSON} as facts from ({detector.query})"
        return self._run(first + select)

    def _run(self, query: str) -> "DataFrame":
        """Returns the result of a query, whose tables are replaced by views."""
        for name in selected_names(query):
            if name not in self._made and (frame := self._frame(name)) is not None:
                frame.createOrReplaceTempView(f"{VIEW_PREFIX}{name}")
                self._made.add(name)
        first_ns, last_ns = self._tables.capture_ns
        args = {"capture_first_ns": first_ns, "capture_last_ns": last_ns} if any(s in query for s in _SPAN) else None
        return self._tables.session.sql(self._of_views(query), args=args)

    def _frame(self, name: str) -> "DataFrame | None":
        """Returns the table, messages, events or shared query of that name; None if there is none."""
        if name in SHARED_QUERIES:
            return self._run(SHARED_QUERIES[name])
        if name in EVENTS_BY_NAME:
            return self._tables.events(name, self._columns_of(EVENTS_BY_NAME[name]))
        return self._tables.columns(TABLES[name], self._columns_of(TABLES[name])) if name in TABLES else None

    def _columns_of(self, source: Source) -> list[str]:
        """Returns the columns of a source that a query may use; the first one if none is used."""
        columns = source_columns(source)
        return [column for column in columns if column in self._words] or columns[:1]

    def _of_views(self, query: str) -> str:
        """Returns the query with each table's name replaced by that of its view. The name becomes the alias if the
        query has none."""

        def renamed(match: re.Match[str]) -> str:
            word, name, alias = match.groups()
            if name not in self._made:
                return match[0]
            has_alias = alias is not None and not _NO_ALIAS.fullmatch(alias)
            return f"{word} {VIEW_PREFIX}{name}{'' if has_alias else f' {name}'}"

        return _SELECTED.sub(renamed, query)


def selected_names(query: str) -> list[str]:
    """Returns the names after `from` and `join` in a query, without repetition."""
    return list(dict.fromkeys(match[2] for match in _SELECTED.finditer(query)))


def rows_read(dataset: Dataset, detectors: Iterable[Detector]) -> int:
    """Returns the number of rows that the queries of the detectors read: the sum over the tables of each query."""
    return sum(_listed_rows(dataset, name) for detector in detectors for name in _sources(detector))


def _listed_rows(dataset: Dataset, name: str) -> int:
    """Returns the number of rows of the table, messages or events that a query calls by that name."""
    if name in EVENTS_BY_NAME:
        files = dataset.manifest.files.get(EVENTS.name, ())
        return sum(file.rows for file in files if f"{KIND_FOLDER}{name}" in file.path.split("/"))
    return dataset.listed_rows(TABLES[name].stored_as) if name in TABLES else 0


def _sources(detector: Detector) -> set[str]:
    """Returns the names from which the query of a detector selects, directly or through a read or a shared query."""
    names, queries = set[str](), [detector.query]
    while queries:
        new = set(selected_names(queries.pop())) - names
        names |= new
        queries += [SHARED_QUERIES[name] for name in new if name in SHARED_QUERIES]
        reads = [read for name, read in detector.reads.items() if name in new and name not in SHARED_QUERIES]
        queries += [read.query(name_of(read.source)) for read in reads]
    return names


def words_of(detectors: Iterable[Detector]) -> frozenset[str]:
    """Returns the words of the detectors' queries and of all queries from which these select."""
    texts = [
        text for d in detectors for text in (d.query, *(read.query(name_of(read.source)) for read in d.reads.values()))
    ]
    words: set[str] = set()
    while texts:
        new = set(_WORD.findall(texts.pop())) - words
        words |= new
        texts += [SHARED_QUERIES[name] for name in new if name in SHARED_QUERIES]
    return frozenset(words | REQUIRED_COLUMNS)
