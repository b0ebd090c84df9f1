"""Spans as the classes of opentelemetry-proto read them, and what they say against the truth of the capture."""

import json
import re
from base64 import b64encode
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status, TracesData

from kafkascope_analyzer.export import otlp as module

from .conftest import ROOT, exported

TRUTH = json.loads((ROOT / "fixtures" / "captures" / "leader_move.truth.json").read_text())


def messages(text: str) -> list[Any]:
    """The lines as TracesData. In the JSON of OTLP ids are hexadecimal, in that of protobuf base64."""
    found = []
    for line in text.splitlines():
        data = json.loads(line)
        for resource in data["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    for part in (span, *span.get("links", [])):
                        for name in ("traceId", "spanId", "parentSpanId"):
                            if name in part:
                                assert re.fullmatch("[0-9a-f]+", part[name])
                                part[name] = b64encode(bytes.fromhex(part[name])).decode()
        found.append(ParseDict(data, TracesData()))  # raises for a field that the protocol does not have
    return found


def spans_of(text: str) -> list[tuple[str, Any]]:
    """(service, span) of all messages."""
    found = []
    for message in messages(text):
        for resource in message.resource_spans:
            (service,) = [
                each.value.string_value for each in resource.resource.attributes if each.key == "service.name"
            ]
            found += [(service, span) for scope in resource.scope_spans for span in scope.spans]
    return found


@pytest.fixture(scope="module")
def spans(leader_move: Path) -> list[tuple[str, Any]]:
    return spans_of(exported("otlp", str(leader_move)))


def attributes(span: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


def test_each_client_of_the_truth_has_a_trace_of_its_start(spans: list[tuple[str, Any]]) -> None:
    starts = {service: span for service, span in spans if span.name.startswith("start of ")}
    assert {client["client_id"] for client in TRUTH["clients"]} <= set(starts)
    for client in TRUTH["clients"]:
        span = starts[client["client_id"]]
        assert span.name == f"start of {client['kind']}"
        ready_ns = client["first_ack_ns"] or client["first_record_ns"]
        assert client["launched_ns"] < span.start_time_unix_nano < span.end_time_unix_nano <= ready_ns
        steps = [s for _, s in spans if s.parent_span_id == span.span_id]
        assert {"tcp_connect", "metadata"} <= {step.name for step in steps}
        assert {step.trace_id for step in steps} == {span.trace_id}


def test_what_followed_from_an_incident_is_below_it(spans: list[tuple[str, Any]]) -> None:
    (down,) = [span for _, span in spans if span.name == "broker_down"]
    killed = next(event["ts_ns"] for event in TRUTH["events"] if "kill" in json.dumps(event).lower())
    assert abs(down.start_time_unix_nano - killed) < 2_000_000_000
    below = [(service, span) for service, span in spans if span.parent_span_id == down.span_id]
    assert {span.name.partition(":")[0] for _, span in below} == {"stall", "recovery"}
    assert {service for service, span in below} & {client["client_id"] for client in TRUTH["clients"]}
    assert all(span.status.code == Status.STATUS_CODE_ERROR for _, span in below if span.name.startswith("stall"))


def test_ids_are_whole_and_unlike_and_parents_are_there(spans: list[tuple[str, Any]]) -> None:
    ids = [span.span_id for _, span in spans]
    assert len(set(ids)) == len(ids)
    assert all(len(span.trace_id) == 16 and len(span.span_id) == 8 for _, span in spans)
    assert {span.parent_span_id for _, span in spans} - {b""} <= set(ids)
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for _, span in spans)


@pytest.mark.slow
def test_exchanges_come_when_they_are_asked_for(leader_move: Path, spans: list[tuple[str, Any]]) -> None:
    with_exchanges = spans_of(exported("otlp", str(leader_move), "--exchanges"))
    exchanges = [span for _, span in with_exchanges if span.kind == Span.SPAN_KIND_CLIENT]
    assert len(with_exchanges) - len(exchanges) == len(spans)
    produced = [attributes(span) for span in exchanges if span.name == "Produce"]
    assert len(produced) == 646
    assert all(found["messaging.system"] == "kafka" and found["request_packet_no"] > 0 for found in produced)


def test_a_produce_is_linked_to_the_trace_that_its_records_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of W3C's Trace Context; what is not one (another version, zeros, a text) is no link."""
    good = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    bad = [b"ff-" + good[3:], b"00-" + b"0" * 32 + good[35:], b"hello", b"", good + b"-x", good.upper()]
    row = {"trace": "c", "id": "c-1", "from_ns": 1, "to_ns": 2, "name": "Produce", "attributes": {}, "failed": False}
    span = module._span(row | {"parent": None, "service": "s"}, module.CLIENT, [*bad, good])
    assert span["links"] == [{"traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": "00f067aa0ba902b7"}]
    assert "links" not in module._span(row | {"parent": None, "service": "s"}, module.CLIENT, bad)


def test_the_same_dataset_gives_the_same_bytes(leader_move: Path) -> None:
    assert exported("otlp", str(leader_move)) == exported("otlp", str(leader_move))


def test_texts_of_strangers_stay_texts(small: ModuleType, tmp_path: Path) -> None:
    dataset = small.write_dataset(tmp_path / "small.kscope", text='"\u202e\n{}\x1b')
    text = exported("otlp", str(dataset), "--exchanges")
    assert spans_of(text)
    assert text.isascii()
    assert "\\u202e" not in text.replace("\\\\u202e", "")


def test_traceparents_are_read_from_the_headers_of_records() -> None:
    rows = {
        "request_id": ["a-1", "a-1", "a-2"],
        "api_key": [0, 0, 0],
        "header_names": [["x", "traceparent"], ["traceparent"], ["x"]],
        "header_values": [[b"1", b"one"], [b"two"], [b"3"]],
    }
    import duckdb

    connection = duckdb.connect()
    connection.register("records", pa.table(rows))
    (found,) = connection.execute(module._PARENTS).fetchall()
    assert (found[0], sorted(found[1])) == ("a-1", [b"one", b"two"])
