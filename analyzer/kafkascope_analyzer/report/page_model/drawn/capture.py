"""The capture: its files, errors, and bytes that could not be read."""

from dataclasses import dataclass
from typing import ClassVar

from kafkascope_analyzer.report.model.apis import ErrorKind, Errors
from kafkascope_analyzer.report.model.capture import FileRead
from kafkascope_analyzer.report.model.data_quality import DataQuality, UndecodedReason
from kafkascope_analyzer.report.page_model.capture_texts import WordedCapture
from kafkascope_analyzer.report.page_model.drawn.part import Part


@dataclass(frozen=True, slots=True)
class PageErrors(Part):
    """Error codes in the brokers' responses."""

    SOURCE: ClassVar[type] = Errors
    kinds: tuple[ErrorKind, ...]


@dataclass(frozen=True, slots=True)
class PageUndecodedReason(Part):
    """A reason for which bytes did not decode."""

    SOURCE: ClassVar[type] = UndecodedReason
    reason: str
    n: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PageDataQuality(Part):
    """Bytes, packets and connections that the capture does not show in full."""

    SOURCE: ClassVar[type] = DataQuality
    undecoded: tuple[PageUndecodedReason, ...]


@dataclass(frozen=True, slots=True)
class PageFileRead(Part):
    """A file that was read."""

    SOURCE: ClassVar[type] = FileRead
    path: str | None
    format: str | None
    n_packets: int | None
    n_truncated: int | None
    n_dropped: int | None
    size_bytes: int | None
    first_ns: int | None
    last_ns: int | None


@dataclass(frozen=True, slots=True)
class PageCapture(Part):
    """The capture with its words. origin: the time from which all others are counted."""

    SOURCE: ClassVar[type] = WordedCapture
    files: tuple[PageFileRead, ...]
    end_ns: int | None
    title: str
    facts: tuple[str, ...]
    unread: tuple[str, ...]
    dataset: str
    origin: str
