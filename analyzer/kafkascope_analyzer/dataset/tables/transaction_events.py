"""Kinds of `events` that tell the story of a transactional id."""

import pyarrow as pa

TRANSACTION_KINDS: dict[str, pa.StructType] = {}
