"""Name servers that do not answer: what the capture shows of each host's questions, and the incident of it."""

from kafkascope_analyzer.dataset.tables.event_kinds.connections import Lookup
from kafkascope_spark.stories.incidents.extent.brackets import fault_of
from kafkascope_spark.stories.incidents.hosts.name_servers import name_server_failures
from kafkascope_spark.stories.incidents.signals.lookup_run import LookupRun, lookup_runs

S = 1_000_000_000
NS = "10.0.0.53"


def asked(at: float, answered: float | None, name: str = "kafka-1.example") -> Lookup:
    answer_ns = None if answered is None else int(answered * S)
    return Lookup(NS, name, answer_ns, "NOERROR" if answer_ns else None, (), ts_ns=int(at * S))


def runs(host: str, *lookups: Lookup) -> list[LookupRun]:
    return list(lookup_runs(host, lookups, 100 * S))


STOPPED = (asked(1, 1.01), asked(10, None), asked(15, 22), asked(20, 22), asked(30, 30.01))
WELL = (asked(2, 2.01), asked(12, 12.01), asked(18, 18.01), asked(31, 31.01))


def test_a_name_server_that_answered_nobody_failed_between_its_answers() -> None:
    (failure,) = name_server_failures([*runs("10.0.0.1", *STOPPED), *runs("10.0.0.2", asked(3, 3.01), asked(16, None))])
    assert (failure.subject, failure.hosts) == (f"DNS server {NS}", frozenset())
    fault = fault_of(failure)
    assert (fault.start_after_ns, fault.start_ns, fault.end_after_ns, fault.end_ns) == (
        3_010_000_000,
        10 * S,
        20 * S,
        22 * S,
    )
    assert failure.waited_ms == 12_000


def test_a_name_server_that_answered_others_was_not_reached_by_some_hosts() -> None:
    (failure,) = name_server_failures([*runs("10.0.0.1", *STOPPED), *runs("10.0.0.2", *WELL)])
    assert failure.hosts == {"10.0.0.1"}


def test_one_lost_question_is_no_failure_and_neither_is_a_capture_without_answers() -> None:
    lost = runs("10.0.0.1", asked(1, 1.01), asked(10, 15), asked(10, 15, "kafka-2.example"), asked(30, 30.01))
    assert not list(name_server_failures(lost))
    assert not runs("10.0.0.1", asked(1, None), asked(6, None), asked(11, None))


def test_a_question_just_before_the_end_of_the_capture_may_have_been_answered() -> None:
    assert [run.answered for run in runs("10.0.0.1", asked(1, 1.01), asked(99.5, None))] == [True]


def test_answers_that_come_late_together_show_no_end_where_further_questions_have_to_wait() -> None:
    """A name server of the lab that was stopped for 3.5 s again and again, from 12.6 to 35.4 s: what it did not answer
    meanwhile it answered together."""
    before = asked(11.31, 11.31)
    first = [asked(14.32, 16.11), asked(14.64, 16.11), asked(15.31, 16.11)]
    then = [asked(21.31, 23.71), asked(21.32, 23.71), asked(22.32, 23.71), asked(27.97, 31.31), asked(31.3, 31.31)]
    (failure,) = name_server_failures(runs("10.0.0.1", before, *first, *then, asked(38, 38.01)))
    fault = fault_of(failure)
    times = [fault.start_after_ns, fault.start_ns, fault.end_after_ns, fault.end_ns]
    assert [at and at / S for at in times] == [11.31, 14.32, 31.3, 38]
    assert [(run.n, run.n_late) for run in failure.lookups] == [(6, 6)]


def test_a_prompt_answer_before_that_to_an_earlier_question_shows_that_the_server_responds() -> None:
    lost = [asked(1, 1.01), asked(10, 15), asked(12, 12.01), asked(20, 20.01)]
    assert [run.answered for run in runs("10.0.0.1", *lost)] == [True, False, True, True]
