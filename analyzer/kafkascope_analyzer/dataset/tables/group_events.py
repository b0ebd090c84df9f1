"""Kinds of `events` that tell the story of a group."""

import pyarrow as pa

GROUP_KINDS: dict[str, pa.StructType] = {}
