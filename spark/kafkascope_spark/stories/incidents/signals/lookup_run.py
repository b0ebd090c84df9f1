"""`LookupRun`: consecutive DNS queries of one client address to one name server that had the same outcome.

An answer comes within milliseconds, or within a second if the server queries other servers first; resolvers repeat a
query after five seconds (resolv.conf, `timeout`). Kafka clients look up names when they start and whenever they
connect. While no answer comes, the queries are all that a capture shows of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from kafkascope_analyzer.dataset.tables.event_kinds.connections import Lookup
from kafkascope_spark.stories.stage_rows import StageRow

PROMPT_NS = 1_000_000_000
MOST_NAMES = 5
MOST_ADDRESSES = 64
"""Addresses of a name beyond this number are ignored: such a name is no list of brokers."""


@dataclass(frozen=True, slots=True)
class LookupRun(StageRow):
    """Consecutive queries of one client address to one name server that were all answered promptly, with pauses of a
    second at most, or that were all not.

    A query that was answered promptly belongs to a run of late answers if an earlier query was answered after it was
    sent: until then the server did not respond.

    n: number of queries; n_late: number of them that were answered late; names: names that were looked up, sorted, the
    first MOST_NAMES; first_ns, last_ns: first and last query; before_ns: last prompt answer before them; after_ns:
    first packet that shows that the server responds again, None if there is none: a prompt answer, or a late one unless
    further queries had to wait after an earlier late one. several: names with more than one address in the answers,
    each followed by its addresses.
    """

    client_ip: str
    server_ip: str
    answered: bool
    n: int
    n_late: int
    names: tuple[str, ...]
    first_ns: int
    last_ns: int
    before_ns: int | None
    after_ns: int | None
    several: tuple[tuple[str, ...], ...] = ()


def lookup_runs(client_ip: str, lookups: Iterable[Lookup], end_ns: int) -> Iterator[LookupRun]:
    """Yields the runs of one client address, by name server, in order of time. end_ns: end of the capture; unanswered
    queries just before it are left out. Yields nothing if the capture has no answer to the address at all: it may lack
    the answers of that host.
    """
    asked = sorted(
        (each for each in lookups if not _is_cut(each, end_ns)), key=lambda each: (each.server_ip, each.ts_ns)
    )
    if not any(lookup.answer_ns is not None for lookup in asked):
        return
    several = _several(asked)
    for server_ip, of_server in groupby(asked, key=lambda lookup: lookup.server_ip):
        runs = list(_alike(of_server))
        for at, run in enumerate(runs):
            before = max(filter(None, (each.answer_ns for each in runs[at - 1])), default=None) if at else None
            following = runs[at + 1] if at + 1 < len(runs) else []
            alike = [each for each in run if _is_prompt(each) is _is_prompt(run[0])]
            names = tuple(sorted({lookup.name for lookup in run}))[:MOST_NAMES]
            yield LookupRun(
                client_ip=client_ip,
                server_ip=server_ip,
                answered=_is_prompt(run[0]),
                n=len(alike),
                n_late=sum(each.answer_ns is not None and not _is_prompt(each) for each in run),
                names=names,
                first_ns=run[0].ts_ns,
                last_ns=run[-1].ts_ns,
                before_ns=before,
                after_ns=_after_ns(run, following),
                several=tuple((name, *sorted(several[name])) for name in names if len(several[name]) > 1),
            )


def _several(lookups: Iterable[Lookup]) -> dict[str, set[str]]:
    """Returns the addresses of each name over all answers: IPv4 and IPv6 addresses come in separate answers."""
    found: dict[str, set[str]] = defaultdict(set)
    for lookup in lookups:
        if len(found[lookup.name]) < MOST_ADDRESSES:
            found[lookup.name].update(lookup.addresses)
    return found


def _alike(lookups: Iterable[Lookup]) -> Iterator[list[Lookup]]:
    """Yields runs of consecutive queries with the same outcome. Prompt answers with a longer pause between them are
    separate runs: they say nothing about the time in between."""
    run: list[Lookup] = []
    for lookup in lookups:
        if run and not _goes_on(run, lookup):
            yield run
            run = []
        run.append(lookup)
    if run:
        yield run


def _goes_on(run: list[Lookup], lookup: Lookup) -> bool:
    """Whether the next query belongs to the run."""
    if _is_prompt(run[0]):
        return _is_prompt(lookup) and lookup.ts_ns - run[-1].ts_ns <= PROMPT_NS
    return not _is_prompt(lookup) or any(_is_answered_between(each, lookup) for each in run)


def _is_answered_between(earlier: Lookup, lookup: Lookup) -> bool:
    """Whether the earlier query was answered between this query and its answer."""
    if earlier.answer_ns is None or lookup.answer_ns is None:
        return False
    return lookup.ts_ns < earlier.answer_ns <= lookup.answer_ns


def _is_cut(lookup: Lookup, end_ns: int) -> bool:
    return lookup.answer_ns is None and lookup.ts_ns + PROMPT_NS > end_ns


def _is_prompt(lookup: Lookup) -> bool:
    return lookup.answer_ns is not None and lookup.answer_ns - lookup.ts_ns <= PROMPT_NS


def _after_ns(run: list[Lookup], following: list[Lookup]) -> int | None:
    last_ns = run[-1].ts_ns
    late = [each.answer_ns for each in run if each.answer_ns is not None]
    had_to_wait_again = any(answer_ns <= last_ns for answer_ns in late)
    prompt = [each.answer_ns for each in following if each.answer_ns is not None]
    return min(prompt if had_to_wait_again else late + prompt, default=None)
