"""`Episodes`: the open episodes of one client instance; ended ones become rows of `recoveries` and `recovery_steps`.

Memory is bounded: at most MAX_OPEN episodes at a time (errors on further resources are ignored), each of bounded size.
"""

import hashlib
from collections.abc import Callable, Iterator

from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun
from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED, Uncovered
from kafkascope_parsers import api_keys
from kafkascope_parsers.error_facts import BRIEF_NS, BRIEFLY_NORMAL
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery, RecoveryRow
from kafkascope_spark.stories.recoveries.episode import NO_NODE_APIS, STORM_TOTAL, Episode
from kafkascope_spark.stories.recoveries.journal import EpisodeStep, Journal
from kafkascope_spark.stories.recoveries.reaction import Reaction
from kafkascope_spark.stories.recoveries.reactions import reaction_to
from kafkascope_spark.stories.recoveries.resources import Resource
from kafkascope_spark.stories.recoveries.states import Trigger
from kafkascope_spark.stories.recoveries.steps_table import RecoveryStep
from kafkascope_spark.stories.recoveries.table import RecoveryOutcome

MAX_OPEN = 10_000
"""Largest number of open episodes of one instance: more topic-partitions than a broker should lead."""
BROKER_SETTLES_MS = 5_000
"""Errors between brokers that pass within this time are normal: brokers learn of new leaders and deleted topics by
errors (AbstractFetcherThread)."""


class Episodes:
    """The open episodes of one instance; ended ones become rows. uncovered: times that no file covers; for episodes
    that were open then, the time of recovery is not known."""

    def __init__(self, instance: Instance, uncovered: Uncovered = NOTHING_UNCOVERED) -> None:
        self._instance = instance
        self._uncovered = uncovered
        self._is_broker = instance.kind.kind == "broker"
        self._library = "broker" if self._is_broker else instance.library
        self._is_transactional = any(c.transactional_ids for c in instance.connections)
        self._reactions: dict[tuple[str, int | None], Reaction] = {}
        self._open: dict[Resource, Episode] = {}
        self._of_connections: dict[Resource, Episode] = {}
        """The episodes of lost connections among them."""
        self._answered_ns = {c.conn_id: c.last_answered_ns for c in instance.connections}
        self._numbers: dict[Resource, int] = {}
        self._journal = Journal()
        self._rows: list[RecoveryRow] = []

    def __bool__(self) -> bool:
        return bool(self._open)

    def get(self, resource: Resource) -> Episode | None:
        """Returns the open episode of the resource; None if there is none."""
        return self._open.get(resource)

    def error(self, resource: Resource, step: EpisodeStep, api_key: int | None = None) -> None:
        """Handles an error on the resource."""
        episode = self._open.get(resource) or self._begin(resource, step, api_key)
        if episode is not None:
            episode.error(step, self._reaction_to(step.error_name or "UNKNOWN", api_key), self._journal)

    def error_run(self, resource: Resource, step: EpisodeStep, run: ErrorRun) -> None:
        """Handles a run of repeated errors on the resource. step: the last of them."""
        first = step._replace(ts_ns=run.ts_ns, request_id=run.request_id)
        episode = self._open.get(resource) or self._begin(resource, first, run.api_key)
        if episode is not None:
            episode.error_run(step, run, self._reaction_to(run.error_name, run.api_key), self._journal)

    def _begin(self, resource: Resource, step: EpisodeStep, api_key: int | None) -> Episode | None:
        """Returns a new episode; None if too many are open."""
        if len(self._open) >= MAX_OPEN:
            return None
        number = self._numbers[resource] = self._numbers.get(resource, 0) + 1
        episode = self._open[resource] = Episode(resource, api_key, number, step, self._journal.end)
        if resource[0] == "connection":
            self._of_connections[resource] = episode
        return episode

    def _reaction_to(self, error_name: str, api_key: int | None) -> Reaction:
        found = self._reactions.get((error_name, api_key))
        if found is None:
            found = reaction_to(error_name, api_key, self._library, transactional=self._is_transactional)
            self._reactions[error_name, api_key] = found
        return found

    def react(self, trigger: Trigger, step: EpisodeStep) -> None:
        """Handles a reaction of the client that may concern all open episodes."""
        if not self._open:
            return
        if self._journal.is_full:
            for episode in self._open.values():
                episode.catch_up(self._journal)
            self._journal.clear()
        self._journal.add(trigger, step)

    def retry(self, resource: Resource, step: EpisodeStep) -> None:
        """Handles a request on the resource."""
        episode = self._open.get(resource)
        if episode is not None:
            episode.retry(step, self._journal)

    def hint(self, resource: Resource, step: EpisodeStep, leader_id: int) -> None:
        """Handles a response with the leader of the topic-partition."""
        episode = self._open.get(resource)
        if episode is not None:
            episode.hint(step, leader_id)

    def catch_up(self, resource: Resource) -> None:
        """Lets the episode of the resource process the journal: the last reaction was about it."""
        episode = self._open.get(resource)
        if episode is not None:
            episode.catch_up(self._journal)

    def note(self, step: EpisodeStep) -> None:
        """Adds a step that does not change the state to all open episodes of lost connections."""
        for episode in self._of_connections.values():
            episode.note(step)

    def late_error(self, resource: Resource, step: EpisodeStep) -> None:
        """Handles an error in the packets that did not reach the client."""
        episode = self._open.get(resource)
        if episode is not None:
            episode.late_error(step)

    def success(self, resource: Resource, step: EpisodeStep, api_key: int | None = None) -> None:
        """Handles a success on the resource, which ends its episode."""
        episode = self._open.pop(resource, None)
        self._of_connections.pop(resource, None)
        if episode is not None:
            episode.success(step, self._journal)
            self._write(episode, "recovered", step, api_key)
        if not self._open:
            self._journal.clear()

    def ready(self) -> list[RecoveryRow]:
        """Returns the rows of episodes that have ended since the last call."""
        rows, self._rows = self._rows, []
        return rows

    def finish(self, outcome_of: Callable[[Episode], RecoveryOutcome], end_ns: int) -> Iterator[RecoveryRow]:
        """Yields the remaining rows at the end of the capture or of the client, episode by episode.

        outcome_of: returns the outcome of an episode that did not end.
        """
        yield from self.ready()
        for resource in list(self._open):
            episode = self._open.pop(resource)
            self._of_connections.pop(resource, None)
            outcome = outcome_of(episode)
            episode.end(self._journal, end_ns)
            self._write(episode, outcome, None, None)
            yield from self.ready()

    def _is_brokers_course(self, episode: Episode) -> bool:
        if not self._is_broker or episode.resource[0] in ("connection", "authentication"):
            return False
        return episode.last_error_ns - episode.first.ts_ns < BROKER_SETTLES_MS * 1_000_000

    def _idle_ms(self, episode: Episode) -> int | None:
        """Returns the time in ms between the last response on a connection and its failure; None if it is not known, or
        there was no response."""
        first = episode.first
        answered_ns = self._answered_ns.get(first.conn_id or "")
        if episode.resource[0] != "connection" or answered_ns is None or first.since_ns is None:
            return None
        if first.since_ns < answered_ns or self._uncovered.first_in(answered_ns, first.since_ns) is not None:
            return None
        return (first.since_ns - answered_ns) // 1_000_000

    def _time_to_recover_ms(self, episode: Episode, end: EpisodeStep | None) -> int | None:
        """Returns the time in ms from the first error to the first success; None without a success, or if no file
        covers a part of that time."""
        start_ns = episode.first.ts_ns
        if end is None or self._uncovered.first_in(start_ns, end.ts_ns) is not None:
            return None
        return (end.ts_ns - start_ns) // 1_000_000

    def _write(self, episode: Episode, outcome: RecoveryOutcome, end: EpisodeStep | None, api_key: int | None) -> None:
        if self._is_brokers_course(episode):
            return
        until_ns = episode.last_ns if end is None else end.ts_ns
        is_pestering = episode.is_fast and episode.n_errors > STORM_TOTAL and episode.reaction.is_denied
        if (episode.reaction_check.wrong or is_pestering) and not self._instance.is_encrypted:
            outcome = "wrong_reaction"
        elif BRIEFLY_NORMAL.issuperset(episode.errors) and until_ns - episode.first.ts_ns < BRIEF_NS:
            return
        recovery = self._recovery(episode, outcome, end, api_key)
        self._rows.append(recovery)
        self._rows += [_step_row(recovery.recovery_id, seq, step) for seq, step in enumerate(episode.steps, 1)]

    def _recovery(
        self, episode: Episode, outcome: RecoveryOutcome, end: EpisodeStep | None, api_key: int | None
    ) -> ClientRecovery:
        """Returns the row of the episode. end: its success, in a response of api_key; None without one."""
        instance, (kind, name), first, times = self._instance, episode.resource, episode.first, episode.times
        n_stale, stale_us = _stale_requests(episode, end, api_key)
        return ClientRecovery(
            recovery_id=_digest("rec", instance.instance_id, kind, name, str(episode.number)),
            client_instance_id=instance.instance_id,
            client_id=instance.client_id,
            client_ip=instance.client_ip,
            closed_ns=first.closed_ns,
            session_ms=first.session_ms,
            last_error_ns=episode.last_error_ns,
            leader_reports=tuple(episode.leader_reports.values()),
            of_outsider=_is_of_outsider(episode),
            of_topic=first.of_topic,
            cause_id=None,
            resource_kind=kind,
            resource=name,
            first_error_name=episode.errors[0],
            first_api_key=episode.api_key,
            error_names=tuple(episode.errors),
            n_errors=episode.n_errors,
            expected_reaction=episode.expected,
            reaction=", ".join(episode.reactions) or "none",
            outcome=outcome,
            claimed=instance.is_encrypted,
            wrong_why=_wrong_why(episode) if outcome == "wrong_reaction" else None,
            storm=episode.storm,
            start_ns=first.ts_ns,
            failing_ns=first.since_ns,
            failing_api=first.api_name if kind == "connection" else None,
            idle_ms=self._idle_ms(episode),
            refreshed_ns=times.get("metadata"),
            rediscovered_ns=times.get("find_coordinator"),
            reconnected_ns=times.get("reconnect"),
            reauthenticated_ns=times.get("authenticate"),
            rejoined_ns=times.get("join_group"),
            retried_ns=times.get("retry"),
            recovered_ns=end.ts_ns if end else None,
            time_to_recover_ms=self._time_to_recover_ms(episode, end),
            refresh_trigger=episode.trigger,
            lost_broker_us=episode.lost_ns["broker"] // 1000,
            lost_backoff_us=episode.lost_ns["backoff"] // 1000,
            lost_stale_us=episode.lost_ns["stale"] // 1000,
            lost_connecting_us=episode.lost_ns["connecting"] // 1000,
            n_wasted_requests=episode.n_wasted + max(0, episode.n_lookups - 1),
            n_stale_requests=n_stale,
            stale_us=stale_us,
            old_node_id=episode.old_node_id,
            new_node_id=_owner(episode, end, api_key),
            incident_id=None,
            evidence=tuple(episode.evidence),
        )


def _is_of_outsider(episode: Episode) -> bool:
    """Whether a group refused a commit or a heartbeat without a member id."""
    if episode.resource[0] != "group" or episode.api_key not in (api_keys.OFFSET_COMMIT, api_keys.HEARTBEAT):
        return False
    key = episode.first.retry_key
    return isinstance(key, tuple) and not key[0]


def _stale_requests(episode: Episode, end: EpisodeStep | None, api_key: int | None) -> tuple[int, int | None]:
    """Returns the number of requests that still went to the old node, and the time until the last of them; (0, None) if
    the resource does not work at another node."""
    if not _moved(episode, end, api_key):
        return 0, None
    until_ns = episode.old_until_ns
    return episode.n_to_old, (until_ns - episode.first.ts_ns) // 1000 if until_ns else None


def _moved(episode: Episode, end: EpisodeStep | None, api_key: int | None) -> bool:
    """Whether the resource works at another node now."""
    if end is None or end.node_id is None or api_key in NO_NODE_APIS:
        return False
    return episode.old_node_id is not None and end.node_id != episode.old_node_id


def _owner(episode: Episode, end: EpisodeStep | None, api_key: int | None) -> int | None:
    """Returns the node that serves the resource at the end: the leader in responses, else the node that responded; None
    if not known."""
    if end is None:
        return None
    if episode.leader_id is not None:
        return episode.leader_id
    return None if api_key in NO_NODE_APIS else end.node_id


def _wrong_why(episode: Episode) -> str:
    return episode.reaction_check.wrong or f"{episode.n_errors} tries of what is not allowed"


def _step_row(recovery_id: str, seq: int, step: EpisodeStep) -> RecoveryStep:
    """Returns the row. It is filled by position, because by name it takes three times as long, and an episode has up to
    a hundred steps."""
    return RecoveryStep(
        recovery_id,
        seq,
        step.name,
        step.conn_id,
        step.node_id,
        step.ts_ns,
        step.duration_us,
        step.request_id,
        step.error_name,
    )


def _digest(prefix: str, *parts: str) -> str:
    return f"{prefix}-{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:16]}"
