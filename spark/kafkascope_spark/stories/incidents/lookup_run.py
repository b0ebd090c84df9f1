"""How a name server responded to one client address: questions one after the other that went alike.

An answer comes within milliseconds, or, where the server asks others first, within a second; resolvers ask again after
five (resolv.conf, `timeout`). Kafka's clients look names up when they start and whenever they connect, so nothing of
theirs is seen in a capture while nobody responds, but the questions.
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
"""A name of more addresses is no list of brokers."""


@dataclass(frozen=True, slots=True)
class LookupRun(StageRow):
    """Questions of one client address to one name server, one after the other, that were all answered promptly, with
    pauses of a second at most, or not.

    A question that was answered promptly, but after one that had been asked before it and was answered late, is one of
    those: until then the server did not respond.

    n: how many; n_late: those of them that were answered after all, not promptly; names: the first of those asked for,
    sorted; first_ns, last_ns: the first question and the last; before_ns: the last prompt answer before them, after_ns:
    the first packet after them that shows that the server responds again, None where there is none: a prompt answer, or
    a late one, unless further questions had to wait after an earlier late one. several: those of the names for which
    the client address was told more than one address, each with these.
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
    """The runs of one client address, by name server, in order of time. end_ns: end of the capture; whoever asked just
    before it may have been answered. Where no answer to the address is in the capture, it may have them nowhere: none.
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
    """The addresses of each name, by all answers: those for IPv4 and IPv6 come apart."""
    found: dict[str, set[str]] = defaultdict(set)
    for lookup in lookups:
        if len(found[lookup.name]) < MOST_ADDRESSES:
            found[lookup.name].update(lookup.addresses)
    return found


def _alike(lookups: Iterable[Lookup]) -> Iterator[list[Lookup]]:
    """Questions one after the other that went alike; prompt answers with a longer pause between them show nothing about
    the time in between."""
    run: list[Lookup] = []
    for lookup in lookups:
        if run and not _goes_on(run, lookup):
            yield run
            run = []
        run.append(lookup)
    if run:
        yield run


def _goes_on(run: list[Lookup], lookup: Lookup) -> bool:
    """Whether the next question belongs to a run."""
    if _is_prompt(run[0]):
        return _is_prompt(lookup) and lookup.ts_ns - run[-1].ts_ns <= PROMPT_NS
    return not _is_prompt(lookup) or any(_is_answered_between(each, lookup) for each in run)


def _is_answered_between(earlier: Lookup, lookup: Lookup) -> bool:
    """Whether an earlier question was answered between a question and its answer."""
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
