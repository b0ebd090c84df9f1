"""Record sets as JSON: their batches and records, in the terms of Kafka's own classes.

Input lines: {"records_hex"}; other keys are ignored. Keys, values and header values are base64; lengths are -1 for
null; timestamps milliseconds since the epoch.
"""

import json
from base64 import b64encode
from typing import Any, TextIO

from kafkascope_analyzer.cli.decode import to_jsonable
from kafkascope_analyzer.cli.decode_lines import read_lines
from kafkascope_parsers.records import Record, RecordBatch, open_record_set
from kafkascope_parsers.schema import data_message_type
from kafkascope_parsers.schema.by_definition import MessageError, decode_by_definition

_TIMESTAMP_TYPES = {None: "NoTimestampType", "create": "CreateTime", "log_append": "LogAppendTime"}
_CONTROL_VALUES = {
    "leader_change": "LeaderChangeMessage",
    "snapshot_header": "SnapshotHeaderRecord",
    "snapshot_footer": "SnapshotFooterRecord",
    "kraft_version": "KRaftVersionRecord",
    "kraft_voters": "VotersRecord",
}
"""Messages in control records: a version int16 comes first, as the message's own first field."""


def decode_record_lines(paths: list[str], out: TextIO) -> None:
    """Writes one JSON line per input line, in order: record_set_json of its records_hex, or {"error": {...}}.

    Raises CaptureError when a file cannot be read.
    """
    for path in paths:
        for text in read_lines(path):
            out.write(json.dumps(_line_json(text), ensure_ascii=True) + "\n")


def _line_json(text: bytes) -> dict[str, Any]:
    try:
        raw = bytes.fromhex(json.loads(text)["records_hex"])
    except KeyError:
        return {"error": {"kind": "bad_line", "message": "not a line of a record set: no records_hex"}}
    except (ValueError, TypeError, AttributeError, RecursionError) as e:
        return {"error": {"kind": "bad_line", "message": f"not a line of a record set: {type(e).__name__}"}}
    return record_set_json(raw)


def record_set_json(raw: bytes) -> dict[str, Any]:
    """Returns {"size_bytes", "valid_bytes", "truncated_tail_bytes", "batches": [...]}; a batch that cannot be opened
    has an "error" and no records."""
    batches = open_record_set(raw)
    valid = batches[-1].position + batches[-1].size if batches else 0
    return {
        "size_bytes": len(raw),
        "valid_bytes": valid,
        "truncated_tail_bytes": len(raw) - valid,
        "batches": [_batch_json(batch) for batch in batches],
    }


def _batch_json(batch: RecordBatch) -> dict[str, Any]:
    out: dict[str, Any] = {
        "position": batch.position,
        "size_bytes": batch.size,
        "magic": batch.magic,
        "codec": batch.codec,
        "compressed": batch.codec != "none",
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "n_records": batch.n_records,
        "crc": batch.crc,
        "crc_valid": batch.crc_valid,
        "timestamp_type": _TIMESTAMP_TYPES[batch.timestamp_type],
        "base_timestamp": batch.base_timestamp,
        "first_timestamp": batch.records[0].timestamp if batch.records else None,
        "max_timestamp": batch.max_timestamp,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "last_sequence": batch.last_sequence,
        "is_transactional": batch.is_transactional,
        "is_control": batch.is_control,
        "control_type": batch.control_type and batch.control_type.upper(),
        "delete_horizon_ms": batch.base_timestamp if batch.has_delete_horizon else None,
        "partition_leader_epoch": batch.leader_epoch,
        "records": [_record_json(record) for record in batch.records],
    }
    if batch.error is not None:
        out["error"] = {"kind": batch.error.kind, "message": str(batch.error)}
    return out


def _record_json(record: Record) -> dict[str, Any]:
    out: dict[str, Any] = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "sequence": record.sequence,
        "key_length": _length(record.key),
        "key": _base64(record.key),
        "value_length": _length(record.value),
        "value": _base64(record.value),
        "headers": [{"key": key, "value": _base64(value)} for key, value in record.headers],
    }
    if record.control_type is not None:
        out["control_type"] = record.control_type.upper()
        if record.coordinator_epoch is not None:
            out["coordinator_epoch"] = record.coordinator_epoch
        if record.control_type in _CONTROL_VALUES:
            out["control_value"] = _control_value(record.control_type, record.value or b"")
    return out


def _control_value(control_type: str, value: bytes) -> dict[str, Any] | None:
    """Returns the message in a KRaft control record; None where it does not decode."""
    message = data_message_type(_CONTROL_VALUES[control_type])
    if message is None or len(value) < 2:
        return None
    try:
        body = decode_by_definition(message, value, min(int.from_bytes(value[:2], "big"), message.versions[1]))["body"]
    except MessageError:
        return None
    jsonable: dict[str, Any] = to_jsonable(body)
    return jsonable


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()
