"""`Client`: one client instance and the machines that follow it: its starts, cadences, recoveries and stalls."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.row_types import StoryRow
from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun, Request
from kafkascope_analyzer.dataset.zookeeper_sessions import ZooKeeperSession
from kafkascope_parsers.api_keys import PRODUCE
from kafkascope_parsers.error_facts import MEMBER_REMOVED
from kafkascope_spark.stories.cadences.tracker import Cadences
from kafkascope_spark.stories.clients.identity.client_rows import client_row
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.clients.table import ClientRow
from kafkascope_spark.stories.clients.timeline import Event, Kind, Timeline
from kafkascope_spark.stories.incidents.signals.affected_client import affected_client
from kafkascope_spark.stories.incidents.signals.silent_client import silent_client_rows
from kafkascope_spark.stories.recoveries.tracker import Recoveries
from kafkascope_spark.stories.stage_rows import PassedOn, StageRow
from kafkascope_spark.stories.stalls.calls import Calls
from kafkascope_spark.stories.stalls.clients import service_clients
from kafkascope_spark.stories.stalls.stall import StallLimits
from kafkascope_spark.stories.stalls.unasked import unasked_stalls
from kafkascope_spark.stories.startups.lifecycle import Startups
from kafkascope_spark.stories.transactions.machine import TRANSACTION, ClientEnd

Story = StoryRow | StageRow | ZooKeeperSession | PassedOn
"""A row that the machine makes: of a table, for the incidents, or for a key that several clients share."""


class Client:
    """One client instance and the machines that follow it. failed_parts: collects its errors."""

    def __init__(
        self, instance: Instance, capture_ns: tuple[int, int], limits: StallLimits, failed_parts: FailedParts
    ) -> None:
        self.instance = instance
        self._failed_parts = failed_parts
        self._limits = limits
        self._part = failed_parts.part("client", instance.instance_id)
        """Catches the errors of its machines."""
        self.startups = Startups(instance, capture_ns, limits.uncovered)
        self.cadences = Cadences(instance, limits.uncovered)
        self.recoveries = Recoveries(instance, capture_ns, limits.uncovered)
        self.calls = Calls(instance, limits)
        self.member_ids: list[str] = []
        self.evicted_ns = 0

    def take(self, event: Event, timeline: Timeline) -> None:
        """Passes the event to the machines. After an error in one of them, all further events are dropped."""
        if not self._part.has_failed:
            with self._part:
                if self.instance.is_encrypted:
                    self._take_claimed(event)
                else:
                    self._take(event, timeline)

    def _take_claimed(self, event: Event) -> None:
        """Takes an event of an encrypted client. Its connections are known, and on each the first requests of some
        guessed APIs. Only a Produce without a response counts as a wait: a Fetch may be a long poll."""
        what = event.what
        if event.kind is Kind.OPEN:
            self.startups.on_open(what)
            self.recoveries.on_open(what)
        elif event.kind is Kind.UP:
            self.recoveries.on_up(what)
        elif event.kind is Kind.REQUEST:
            self.startups.on_request(what)
            if what.api_key == PRODUCE:
                self.recoveries.on_request(what)
        elif event.kind is Kind.ANSWER:
            self.startups.on_answer(what)
            self.recoveries.on_answer(what, [])
        elif event.kind is Kind.CLOSE:
            self.startups.on_close(what, event.ts_ns)
            self.recoveries.on_close(what, event.ts_ns)

    def _take(self, event: Event, timeline: Timeline) -> None:
        what = event.what
        if event.kind is Kind.REQUEST:
            self._on_request(what)
        elif event.kind is Kind.ANSWER:
            errors = timeline.errors_of(what)
            self.startups.on_answer(what, errors)
            self.recoveries.on_answer(what, errors)
            self.calls.on_answer(what, errors)
        elif event.kind is Kind.LATE_ANSWER:
            self.recoveries.on_late_answer(what, event.ts_ns, timeline.errors_of(what))
        elif event.kind is Kind.ERROR_RUN:
            self._on_error_run(what)
        elif event.kind is Kind.OPEN:
            self.startups.on_open(what)
            self.recoveries.on_open(what)
        elif event.kind is Kind.UP:
            self.recoveries.on_up(what)
        elif event.kind is Kind.ACCESS:
            self.recoveries.on_access(what)
        else:
            self.startups.on_close(what, event.ts_ns)
            self.recoveries.on_close(what, event.ts_ns)

    def _on_error_run(self, run: ErrorRun) -> None:
        """Handles a run of repeated errors. Starts ignore it, because the requests before and after the run have their
        own events."""
        if run.error_name in MEMBER_REMOVED:
            self.evicted_ns = run.last_sent_ns
        if run.request is not None:
            self.cadences.on_repeated(run.request, run.n, run.last_sent_ns)
            self.recoveries.on_error_run(run, run.request)
            self.calls.on_error_run(run, run.request)

    def _on_request(self, request: Request) -> None:
        if request.member_id and request.member_id not in self.member_ids:
            self.member_ids.append(request.member_id)
        if request.error_name in MEMBER_REMOVED:
            self.evicted_ns = request.ts_ns
        self.startups.on_request(request)
        self.cadences.on_request(request)
        if request.status == "no_response_expected":
            self.startups.on_request_without_response(request)
        self.recoveries.on_request(request)
        self.calls.on_request(request)

    def finish(self, capture_ns: tuple[int, int]) -> Iterator[Story]:
        """Yields the client's row, the rows that other machines need, and its stalls, starts, loops and recoveries."""
        row = client_row(self.instance, self.member_ids, self.evicted_ns, capture_ns)
        yield row
        for name in sorted(set().union(*(c.transactional_ids for c in self.instance.connections))):
            end = ClientEnd(row.client_instance_id, row.left_ns)
            yield PassedOn(TRANSACTION, name, end, row.client_instance_id)
        yield from service_clients(self.instance, row)
        if row.kind != "broker":
            yield affected_client(self.instance, row)
            yield from silent_client_rows(self.instance, capture_ns[1])
        if self._part.has_failed:
            return
        for kind, rows in self._sections(row).items():
            yield from self._failed_parts.rows(kind, self.instance.instance_id, rows)

    def _sections(self, row: ClientRow) -> dict[str, Callable[[], Iterable[Story]]]:
        """Returns functions that make its stalls, starts, loops and recoveries, by section. row: its row of
        `clients`."""
        stalls: Callable[[], Iterable[Story]] = partial(self.calls.finish, row.left_ns)
        if self.instance.is_encrypted:
            stalls = partial(unasked_stalls, self.instance, self._limits)
        elif row.kind == "broker":  # a broker sends requests for its clients, and does not wait itself
            stalls = tuple
        return {
            "stalls of client": stalls,
            "starts of client": self.startups.finish,
            "cadences of client": tuple if self.instance.is_encrypted else self.cadences.finish,
            "recoveries of client": partial(self.recoveries.finish, row.left_ns),
        }

    def ready(self) -> Iterator[Story]:
        """Yields the rows that are already complete."""
        return self._part.rows(self.recoveries.ready)
