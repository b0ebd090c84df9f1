"""How much of the records in Produce and Fetch a dataset holds. Each level includes the previous one."""

from enum import IntEnum


class RecordDetail(IntEnum):
    """COUNTS: batches, records and bytes per partition. BATCHES: a row per batch, with its checksum verified. RECORDS:
    batches are opened, with a row per record without its contents. PAYLOADS: keys, values and header values too.
    """

    COUNTS = 0
    BATCHES = 1
    RECORDS = 2
    PAYLOADS = 3
