"""Reads the inputs once, whatever the number of processes: blocks of TCP segments, each with its series."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.limits_hit import DATAGRAMS, FRAGMENTS
from kafkascope_analyzer.read.place import CapturePlace, place_of
from kafkascope_analyzer.read.series import SeriesFinder
from kafkascope_analyzer.read.source import CaptureFile, CaptureInfo
from kafkascope_analyzer.read.window import Buffers
from kafkascope_parsers.link import Datagram, LinkReader, Segments


@dataclass(frozen=True, slots=True)
class ReadBlock:
    """Segments of a part of a file, the bytes that their offsets count in (uint8, valid until the next block is asked
    for), and the datagrams of port 53 among them. series: 0, 1, ...; capture_id: the file's number.
    """

    series: int
    capture_id: int
    buf: NDArray[np.uint8]
    segments: Segments
    datagrams: list[Datagram]


class Reading:
    """The inputs, in the order given. captures is complete when the blocks are through."""

    def __init__(self, inputs: Sequence[CapturePlace | Path | str], buffers: Buffers) -> None:
        self.captures: list[CaptureInfo] = []
        self._inputs, self._buffers = tuple(map(place_of, inputs)), buffers
        self.total_bytes = sum(place.size_bytes() for place in self._inputs)
        self._finder = SeriesFinder()
        self._links: list[LinkReader] = []

    @property
    def read_bytes(self) -> int:
        """Bytes of the files that were read, as they lie there."""
        return sum(info.size_bytes for info in self.captures)

    @property
    def limits_hit(self) -> dict[str, int]:
        """What was left out below TCP."""
        return limits_hit_below_tcp(self.captures)

    def blocks(self) -> Iterator[ReadBlock]:
        """Blocks in the order of the files. Raises CaptureError when a file cannot be read."""
        for capture_id, place in enumerate(self._inputs):
            file = CaptureFile(place, may_be_empty=len(self._inputs) > 1, buffers=self._buffers)
            self.captures.append(file.info)
            series = -1
            for block in file.blocks():
                if series < 0:
                    series = self._series_of(place, int(block.packets.ts_ns[0]))
                link = self._links[series]
                buf, segments = link.read_segments(block.buf, block.packets)
                yield ReadBlock(series, capture_id, buf, segments, link.take_datagrams())
            if series >= 0:
                self._finder.ended(series, file.info)
                file.info.kinds = self._links[series].take_counts()

    def _series_of(self, place: CapturePlace, first_ns: int) -> int:
        series = self._finder.series_of(place, first_ns)
        if series == len(self._links):
            self._links.append(LinkReader())
        return series


def limits_hit_below_tcp(captures: Sequence[CaptureInfo]) -> dict[str, int]:
    """What was left out of captures below TCP, by the names of hit_limits."""
    kinds = [info.kinds for info in captures]
    return {FRAGMENTS: sum(k.over_limit for k in kinds), DATAGRAMS: sum(k.datagrams_left_out for k in kinds)}
