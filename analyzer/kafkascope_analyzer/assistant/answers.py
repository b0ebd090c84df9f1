"""The answers that an assistant can get about a dataset, as plain values: the words are those of the report, the proofs
are packet numbers of the captures.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from kafkascope_analyzer.assistant.only import Only
from kafkascope_analyzer.assistant.quoted import Answer, check_page, clean, page, quoted
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.restriction import Asked, Restriction
from kafkascope_analyzer.dataset.table_rows import one_of, rows
from kafkascope_analyzer.dataset.tables import CAPTURES, INGEST_TABLES, MESSAGE_KEYS, REQUESTS
from kafkascope_analyzer.report.commands import at_place
from kafkascope_analyzer.report.explain.explanation import explain
from kafkascope_analyzer.report.explain.restricting import restricted
from kafkascope_analyzer.report.model.chronology import chronology
from kafkascope_analyzer.report.model.report import Report, report_model
from kafkascope_analyzer.sql.database import Database, WorkMemory
from kafkascope_analyzer.sql.reference_tables import REFERENCE_TABLES
from kafkascope_analyzer.sql.saved import macros, question, questions, views
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.findings.registry import RULES
from kafkascope_spark.stories.tables import STORY_TABLES

SQL_SECONDS = 30
"""Timeout of a query, seconds."""
SQL_MEMORY = "1GB"
_INCIDENT = (
    *("incident_id", "kind", "severity", "title", "sentence", "when", "over_text", "who", "n_clients", "clients"),
    *("n_stalls", "how_known", "confidence", "actions", "course", "followed_text", "evidence", "packets", "cut"),
)
_FINDING = (
    *("finding_id", "rule", "severity", "sentence", "advice", "subject", "clients", "n", "when", "incident_id"),
    *("evidence", "packets", "cut"),
)
"""The fields of an incident, and of a finding, that an answer includes."""
MOST_SQL = 20_000
"""Longest query, characters."""
MOST_REQUESTS = 50
"""Most requests whose packets one call returns."""


class Answers:
    """The answers about one dataset of one cluster. place: as the user named it, for commands. scratch: a directory for
    data of a query that does not fit into memory. One question at a time; close it, or use it in a `with`."""

    def __init__(self, dataset: Dataset, place: str, scratch: Path) -> None:
        self._dataset, self._place = dataset, place
        self._last: tuple[Restriction | None, Report] | None = None
        self._database = Database(dataset, memory=WorkMemory(SQL_MEMORY, scratch))
        self._lock = Lock()

    def __enter__(self) -> "Answers":
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def _restricted(self, only: Only) -> Dataset:
        """Returns the dataset, restricted to the request, within its own restriction. Raises UsageError."""
        asked = Asked(only.clients, only.nodes, only.groups, only.topics, only.start, only.end)
        return self._dataset if asked.is_everything else restricted(self._dataset, asked)

    def _report(self, only: Only) -> Report:
        """Returns the report; the last one is kept. Raises UsageError."""
        dataset = self._restricted(only)
        if self._last is None or self._last[0] != dataset.restriction:
            self._last = dataset.restriction, at_place(report_model(dataset), self._place)
        return self._last[1]

    def verdict(self, only: Only) -> Answer:
        """Returns the headline of the report, and what the capture does not show. Raises UsageError."""
        with self._lock:
            report = self._report(only)
            incidents = report.incidents
            data = {
                "headline": replace(report.headline, doubt=report.headline.doubt or "none: the capture shows enough"),
                "incidents": {
                    "n": incidents.n,
                    "by_severity": incidents.by_severity,
                    "why_not": incidents.why_not or "",
                },
                "findings": {"n": report.findings.n, "by_severity": report.findings.by_severity},
                "captures": list(
                    rows(self._dataset, CAPTURES, ["capture_id", "path", "first_ts", "last_ts", "n_packets"])
                ),
            }
            return quoted(data)

    def incidents(self, only: Only, offset: int, limit: int) -> Answer:
        """Returns incidents, the most harmful first, then the routine ones, each with its proof. Raises UsageError."""
        with self._lock:
            found = self._report(only).incidents
            return page(_parts((*found.listed, *found.routine), _INCIDENT), offset, limit)

    def findings(self, only: Only, offset: int, limit: int) -> Answer:
        """Returns findings, the worst first, each with advice and proof. Raises UsageError."""
        with self._lock:
            return page(_parts(self._report(only).findings.listed, _FINDING), offset, limit)

    def explain(self, name: str, only: Only) -> Answer:
        """Returns the explanation of the incident, client, group or topic with that id or name. Raises UsageError."""
        with self._lock:
            titles = {rule.name: rule.title for rule in RULES}
            found = at_place(explain(self._restricted(only), name, titles), self._place)
            data = {"id": found.id, "sentences": found.sentences, "cut": found.cut, "wireshark": found.wireshark}
            return quoted(data | {"rows": dict(found.rows)})

    def timeline(self, only: Only, offset: int, limit: int) -> Answer:
        """Returns the timeline. Raises UsageError."""
        with self._lock:
            return page(chronology(self._restricted(only)), offset, limit)

    def sql(self, query: str, offset: int, limit: int) -> Answer:
        """Returns the rows of one SELECT. Raises UsageError, also where it takes too long."""
        check_page(offset, limit)
        if len(query) > MOST_SQL:
            raise UsageError(f"the query has {len(query):,} characters; the limit is {MOST_SQL:,}")
        with self._lock, self._stopped_in_time():
            names, found = self._database.query(query)
            listed = list(islice(found, offset, offset + limit + 1))
        answer = page(listed[:limit], offset, limit, more=len(listed) > limit, unknown=None)
        return {"columns": clean(names), "null": "unknown, or no value", **answer}

    @contextmanager
    def _stopped_in_time(self) -> Iterator[None]:
        timer = Timer(SQL_SECONDS, self._database.interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def question(self, name: str, offset: int, limit: int) -> Answer:
        """Returns the rows of a saved question. Raises UsageError."""
        return self.sql(question(name).text, offset, limit)

    def questions(self) -> Answer:
        """Returns the saved questions. They come from the program, not from the dataset."""
        return {"questions": {saved.name: saved.description for saved in questions()}}

    def tables(self, table: str | None) -> Answer:
        """Returns the tables and views, or the columns of one. They come from the program, not from the dataset. Raises
        UsageError."""
        known = {each.name: each for each in (*INGEST_TABLES, *STORY_TABLES, *REFERENCE_TABLES)}
        saved = {each.name: each for each in (*views(), *macros())}
        if table is None:
            made = {name: f"One row per {each.row}." for name, each in known.items()}
            made |= {name: each.description for name, each in saved.items()}
            return {"tables": made, "messages": list(self._dataset.messages)}
        if table in known:
            return {"columns": {column.name: f"{column.type}: {column.doc}" for column in known[table].columns}}
        if table in saved:
            return {"sql": saved[table].text}
        if table.startswith("messages"):
            return {"columns": {column.name: column.doc for column in MESSAGE_KEYS}, "then": "Kafka's own fields"}
        raise UsageError(f"no table is called {clean(table)}")

    def packets(self, request_ids: list[str]) -> Answer:
        """Returns the packets of requests and their responses. Raises UsageError where none of them is known."""
        if not 1 <= len(request_ids) <= MOST_REQUESTS:
            raise UsageError(f"name 1 to {MOST_REQUESTS} requests")
        wanted = [
            "request_id",
            "capture_id",
            "request_packet_no",
            "response_packet_no",
            "ts",
            "api_name",
            "api_version",
        ]
        wanted += ["client_id", "client_ip", "node_id", "latency_us", "error_name", "status"]
        with self._lock:
            found = list(rows(self._dataset, REQUESTS, wanted, one_of("request_id", request_ids)))
            paths = {row["capture_id"]: row["path"] for row in rows(self._dataset, CAPTURES, ["capture_id", "path"])}
        if not found:
            raise UsageError("the dataset has none of these requests")
        return quoted([row | {"capture": paths.get(row["capture_id"])} for row in found])


def _parts(models: Iterable[Any], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Returns the fields of these names, of each model."""
    return [{name: getattr(model, name) for name in names} for model in models]
