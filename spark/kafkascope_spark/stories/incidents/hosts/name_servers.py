"""Name servers that did not answer, at all or to some hosts, from their runs of queries (lookup_run)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice

from kafkascope_analyzer.dataset.stretches import Stretches
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failures.fault import Fault
from kafkascope_spark.stories.incidents.kinds.dns import DNS
from kafkascope_spark.stories.incidents.signals.lookup_run import PROMPT_NS, LookupRun

RETRY_NS = 5 * SECOND
"""Time after which a resolver repeats a query (resolv.conf, `timeout`)."""
LEAST_NS = SECOND
"""Unanswered queries must span this time at least: queries that are closer together may be missing because of one lost
packet."""


def name_server_failures(runs: Iterable[LookupRun]) -> Iterator[Failure]:
    """Yields the failures, by name server, in order of time."""
    of_server: dict[str, list[LookupRun]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.first_ns, run.client_ip)):
        of_server[run.server_ip].append(run)
    for server_ip, mine in sorted(of_server.items()):
        answered = Stretches((run.first_ns, run.last_ns, run) for run in mine if run.answered)
        for group in _together(run for run in mine if not run.answered):
            if _is_repeated(group):
                yield _failure(server_ip, group, answered)


def _together(runs: Iterable[LookupRun]) -> Iterator[list[LookupRun]]:
    """Yields groups of runs of all hosts that overlap, or that begin before a resolver repeats a query."""
    group: list[LookupRun] = []
    until = 0
    for run in runs:
        if group and run.first_ns > until:
            yield group
            group, until = [], 0
        group.append(run)
        until = max(until, run.after_ns or run.last_ns + RETRY_NS)
    if group:
        yield group


def _is_repeated(group: list[LookupRun]) -> bool:
    first_ns, last_ns = min(run.first_ns for run in group), max(run.last_ns for run in group)
    return last_ns - first_ns >= LEAST_NS


def _failure(server_ip: str, group: list[LookupRun], answered: Stretches[LookupRun]) -> Failure:
    """Returns the failure of the name server; of the path to it, if it answered other hosts at that time."""
    hosts = frozenset(run.client_ip for run in group)
    first_ns, last_ns = min(run.first_ns for run in group), max(run.last_ns for run in group)
    meanwhile = answered.meeting(first_ns + PROMPT_NS + 1, last_ns - 1)
    is_alone = any(run.client_ip not in hosts for run in meanwhile)
    before = [run.before_ns for run in group if run.before_ns is not None and run.before_ns < first_ns]
    after = [run.after_ns for run in group if run.after_ns is not None and run.after_ns > last_ns]
    if not is_alone:
        before += [run.last_ns for run in islice(answered.latest(0, first_ns - 1), 1) if run.last_ns < first_ns]
        after += [since_ns for since_ns, _ in islice(answered.after(last_ns), 1)]
    end_ns = min(after, default=None)
    failure = Failure(DNS, f"DNS server {server_ip}", first_ns, end_ns)
    failure.hosts = hosts if is_alone else frozenset()
    failure.lookups = sorted(group, key=lambda run: (run.first_ns, run.client_ip))
    failure.resources = {name for run in group for name in run.names}
    failure.fault = Fault(max(before, default=None), first_ns, last_ns, end_ns)
    failure.waited_ms = max((run.after_ns or run.last_ns) - run.first_ns for run in group) // 1_000_000
    return failure
