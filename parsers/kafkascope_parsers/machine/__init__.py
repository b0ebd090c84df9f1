"""Runs compiled programs over frames of bytes and returns columns."""

from kafkascope_parsers.machine.arrow import arrow_schema, strings, to_arrow
from kafkascope_parsers.machine.columns import FAILURE_KINDS, Columns, Failure, UnexpectedNull
from kafkascope_parsers.machine.decode import DecodeOptions, decode_leading, decode_messages
from kafkascope_parsers.machine.rows import to_rows

__all__ = [
    "FAILURE_KINDS",
    "Columns",
    "DecodeOptions",
    "Failure",
    "UnexpectedNull",
    "arrow_schema",
    "decode_leading",
    "decode_messages",
    "strings",
    "to_arrow",
    "to_rows",
]
