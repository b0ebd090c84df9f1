"""TLS that was given up, as incidents, against what the programs themselves said (handshakes.truth.json)."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from scripts.stories_in_process import write_stories_in_process

from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.read.key_logs import key_log_places
from kafkascope_spark.stories.incidents.clients.misconfigured import Listeners
from kafkascope_spark.stories.incidents.failures.fault import Fault
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.kinds.tls_failed import TLS_FAILED
from kafkascope_spark.stories.incidents.rows.incident_rows import severity_of
from kafkascope_spark.stories.incidents.signals.listener_use import TLS, ListenerUse, Outcome
from kafkascope_spark.stories.incidents.texts.misuse_advice import what_fits
from kafkascope_spark.stories.incidents.texts.misuse_sentences import misuse_sentence
from kafkascope_spark.stories.model import TlsGivenUp
from kafkascope_spark.stories.tls_words import ADVICE, WHY, what_to_change, why

pytestmark = pytest.mark.spark
S = 1_000_000_000
TRUTH = Path(__file__).parents[4] / "fixtures" / "tls" / "handshakes.truth.json"
VALUES = {"sender": "app", "other": "10.0.0.1:9093", "of_subject": ""}
Row = dict[str, Any]


def incidents(dataset: Path) -> list[Row]:
    rows: list[Row] = pq.read_table(dataset / "stories" / "incidents").to_pylist()
    return [row for row in rows if row["kind"] == TLS_FAILED.name]


def test_each_connection_that_its_program_says_failed_is_in_an_incident(dataset_of: Callable[..., Path]) -> None:
    failed = [case for case in json.loads(TRUTH.read_text()) if not case["outcome"].startswith("ok")]
    found = incidents(dataset_of("handshakes", ()))
    assert {row["place"] for row in found} == {"listener"}
    assert {tuple(row["hosts"]) for row in found} == {("127.0.0.1",)}
    ports = {int(port) for row in found for port in re.findall(r"127\.0\.0\.1:(\d+)", row["sentence"])}
    assert ports == {case["server_port"] for case in failed}
    counted = [int(number) for row in found for number in re.findall(r"(\d+) connections? failed", row["sentence"])]
    assert sum(counted) == len(failed) == 25


@pytest.mark.parametrize(
    ("port", "said", "severity"),
    [
        (9125, "does not accept the certificate of 127.0.0.1:9125: it has expired: 2 connections", "error"),
        (9126, "it is for another name than the one that is asked for", "error"),
        (9106, "does not speak the versions of TLS that 127.0.0.1 offers", "error"),
        (9124, "requires a certificate of 127.0.0.1, which sent none", "info"),
    ],
)
def test_the_sentence_says_why(dataset_of: Callable[..., Path], port: int, said: str, severity: str) -> None:
    """At 9124 later connections, with a certificate, worked."""
    (row,) = [row for row in incidents(dataset_of("handshakes", ())) if f":{port}" in row["sentence"]]
    assert said in row["sentence"]
    assert row["severity"] == severity
    assert [action["owner"] for action in row["actions"]] == ["clients"]


def test_whoever_works_later_is_no_victim(dataset_of: Callable[..., Path]) -> None:
    found = {row["severity"]: row["sentence"] for row in incidents(dataset_of("refused_handshakes", ()))}
    assert "9093" in found["info"]
    assert "Later connections of the same hosts to it worked." in found["info"]


def test_a_reason_that_nobody_knows_is_told_all_the_same() -> None:
    assert why("alert_200", VALUES) == "ended the connection"
    assert what_to_change("alert_200", (), VALUES) == (
        "Look in the logs of app for that time: it ended the TLS handshake."
    )
    assert set(ADVICE) <= set(WHY)


def use(client_ip: str, *, served: bool, server: str = "10.0.0.1:9093", reason: str = "expired") -> ListenerUse:
    outcome = Outcome(
        server, TLS, None, served, tls_given_up=None if served else TlsGivenUp("client", "certificate_expired", reason)
    )
    return ListenerUse(client_ip, None, None, outcome, 2, 10, 20, is_over=True, works_on=False, evidence=("c",))


@pytest.mark.parametrize(
    ("uses", "of_one"),
    [
        ([use("a", served=False), use("b", served=True)], True),
        ([use("a", served=False), use("a", served=True)], False),  # nobody else was served
        ([use("a", served=False), use("b", served=False), use("c", served=True)], False),
        ([use("a", served=False), use("b", served=True, server="10.0.0.1:9999")], False),
    ],
)
def test_a_listener_that_serves_others_is_not_the_place(uses: list[ListenerUse], of_one: bool) -> None:
    listeners = Listeners()
    for one in uses:
        listeners.take(one)
    (failure,) = listeners.failures()
    assert failure.misuse is not None
    assert failure.misuse.is_of_one_client is of_one


def test_a_listener_that_was_trusted_before_shows_another_certificate(state_of_tls: Listeners) -> None:
    """As in recordings in which the brokers had the certificate of another authority, or an expired one, for 15 s:
    clients that started then failed, each with an alert of its own, and those that were connected went on."""
    (failure,) = state_of_tls.failures()
    assert failure.fault == Fault(4 * S, 10 * S, 24 * S, 25 * S)
    assert (failure.waited_ms, severity_of(failure)) == (14_000, "error")
    assert failure.misuse is not None
    assert "had worked until then" in misuse_sentence(failure.misuse)
    assert [action.owner for action in what_fits(failure.misuse, Observed(failure, {}, {}))] == ["brokers"]


@pytest.fixture
def state_of_tls() -> Listeners:
    """One address was served at 4 s and from 25 s on, and gave up TLS from 10 to 24 s; another has met nothing else."""
    listeners = Listeners()
    known = replace(use("10.0.0.21", served=False), first_ns=10 * S, last_ns=24 * S, works_on=True)
    listeners.take(replace(known, tls_before_ns=4 * S, tls_after_ns=25 * S))
    listeners.take(replace(use("10.0.0.22", served=False, reason="unknown_ca"), first_ns=12 * S, last_ns=20 * S))
    return listeners


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        (["certificate_expired", "expired"], ["expired"]),
        (["certificate_expired"], ["certificate_expired"]),
        (["certificate_expired", "expired", "not_yet_valid"], ["certificate_expired", "expired", "not_yet_valid"]),
    ],
)
def test_what_one_handshake_shows_of_a_certificate_holds_for_those_that_hide_it(
    reasons: list[str], told: list[str]
) -> None:
    listeners = Listeners()
    for i, reason in enumerate(reasons):
        listeners.take(use(f"10.0.0.{i}", served=False, reason=reason))
    found = [failure.misuse.tls_given_up for failure in listeners.failures() if failure.misuse is not None]
    assert sorted(given_up.reason for given_up in found if given_up is not None) == told


def test_refused_clients_of_mutual_tls_are_told_with_keys_too(tmp_path: Path) -> None:
    """Each of the 12 that the broker refused, and nobody else (kafka_mtls.truth.json)."""
    refused = json.loads((TRUTH.parent / "kafka_mtls.truth.json").read_text())["refused"]
    keys = key_log_places([TRUTH.parent / "kafka_mtls.keys"])
    ingest([TRUTH.parent / "kafka_mtls.pcap.zst"], tmp_path, IngestOptions(jobs=1, key_logs=keys))
    write_stories_in_process(tmp_path)
    found = incidents(tmp_path)
    counted = [int(number) for row in found for number in re.findall(r"(\d+) connections? failed", row["sentence"])]
    assert sum(counted) == len(refused) == 12
    told = " ".join(row["sentence"] for row in found)
    assert "requires a certificate of 127.0.0.1, which sent none" in told
    assert "does not trust the certificate of 127.0.0.1" in told or "does not accept the certificate" in told
