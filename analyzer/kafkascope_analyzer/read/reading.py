"""Reads the inputs once, whatever the number of processes: yields blocks of TCP segments, each with its series."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.limits_hit import DATAGRAMS, FRAGMENTS
from kafkascope_analyzer.read.place import CapturePlace, place_of
from kafkascope_analyzer.read.series import SeriesFinder
from kafkascope_analyzer.read.source import CaptureFile, CaptureInfo
from kafkascope_analyzer.read.window import Buffers
from kafkascope_parsers.capture import Secrets
from kafkascope_parsers.link import Datagram, LinkReader, Segments


@dataclass(frozen=True, slots=True)
class ReadBlock:
    """Segments of a part of a file, the bytes in which their offsets count (uint8, valid until the next block is
    requested), and the datagrams of port 53 among them. series: 0, 1, ...; capture_id: the file's number; secrets:
    secrets in the file, in this part or since the previous block.
    """

    series: int
    capture_id: int
    buf: NDArray[np.uint8]
    segments: Segments
    datagrams: list[Datagram]
    secrets: tuple[Secrets, ...] = ()


@dataclass(slots=True)
class ReadSoFar:
    """The state after the captures that were read: the files, the series, and for each series the state of the link
    layer. A `Reading` continues from here."""

    captures: list[CaptureInfo] = field(default_factory=list)
    finder: SeriesFinder = field(default_factory=SeriesFinder)
    links: list[LinkReader] = field(default_factory=list)

    def series(self) -> "EarlierSeries":
        """The series with which a file of a later run is compared."""
        number = {info.path: i for i, info in enumerate(self.captures)}
        last_captures = tuple(number[path] for path in self.finder.last_paths)
        return EarlierSeries(len(self.captures), last_captures, deepcopy(self.finder))


@dataclass(frozen=True, slots=True)
class EarlierSeries:
    """The series of the captures that earlier runs have read: the number of captures, the number of the last one of
    each series, and the SeriesFinder for later files."""

    n_captures: int = 0
    last_captures: tuple[int, ...] = ()
    finder: SeriesFinder = field(default_factory=SeriesFinder)


@dataclass(frozen=True, slots=True)
class ToRead:
    """Captures to read, in time order, and the state after those that were read before."""

    places: tuple[CapturePlace, ...]
    before: ReadSoFar = field(default_factory=ReadSoFar)

    @classmethod
    def of(cls, inputs: Sequence[CapturePlace | Path | str]) -> "ToRead":
        """Returns captures before which nothing was read."""
        return cls(tuple(map(place_of, inputs)))


class Reading:
    """Reads captures. captures is complete after the last block; it begins with those that were read before."""

    def __init__(self, inputs: ToRead, buffers: Buffers) -> None:
        self.captures = inputs.before.captures
        self._inputs, self._buffers = inputs.places, buffers
        self.total_bytes = sum(place.size_bytes() for place in self._inputs)
        self._n_before = len(self.captures)
        self._finder, self._links = inputs.before.finder, inputs.before.links

    @property
    def read_bytes(self) -> int:
        """Bytes of the stored files that were read."""
        return sum(info.size_bytes for info in self.captures[self._n_before :])

    @property
    def limits_hit(self) -> dict[str, int]:
        """Returns the number of packets or fragments that were left out below TCP, by the name of the limit."""
        return limits_hit_below_tcp(self.captures)

    def network_times(self) -> None:
        """None: with one capture point there is nothing to measure."""

    def blocks(self) -> Iterator[ReadBlock]:
        """Yields blocks in the order of the files. Raises CaptureError when a file cannot be read."""
        for capture_id, place in enumerate(self._inputs, self._n_before):
            file = CaptureFile(place, may_be_empty=self._n_before + len(self._inputs) > 1, buffers=self._buffers)
            self.captures.append(file.info)
            series = -1
            for block in file.blocks():
                if series < 0:
                    series = self._series_of(place, int(block.packets.ts_ns[0]))
                link = self._links[series]
                buf, segments = link.read_segments(block.buf, block.packets)
                yield ReadBlock(series, capture_id, buf, segments, link.take_datagrams(), file.take_secrets())
            if series >= 0:
                self._finder.ended(series, file.info)
                file.info.kinds = self._links[series].take_counts()

    def _series_of(self, place: CapturePlace, first_ns: int) -> int:
        series = self._finder.series_of(place, first_ns)
        if series == len(self._links):
            self._links.append(LinkReader())
        return series


def limits_hit_below_tcp(captures: Sequence[CaptureInfo]) -> dict[str, int]:
    """Returns how much of captures was left out below TCP, by the names of hit_limits."""
    kinds = [info.kinds for info in captures]
    return {FRAGMENTS: sum(k.over_limit for k in kinds), DATAGRAMS: sum(k.datagrams_left_out for k in kinds)}
