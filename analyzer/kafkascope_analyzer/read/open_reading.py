"""Opens the inputs of an ingest for reading: files as they are, or capture points side by side."""

from kafkascope_analyzer.read.points.assignment import CapturePoints
from kafkascope_analyzer.read.points.merging import PointsReading
from kafkascope_analyzer.read.reading import Reading, ToRead
from kafkascope_analyzer.read.window import Buffers

Inputs = ToRead | CapturePoints
"""The inputs of an ingest."""


def open_reading(inputs: Inputs, buffers: Buffers) -> Reading | PointsReading:
    """Returns the reader of the inputs. Nothing is opened yet."""
    return PointsReading(inputs, buffers) if isinstance(inputs, CapturePoints) else Reading(inputs, buffers)
