"""Sentences about the packets and the end of a capture file, before it is ingested (`info`) and afterwards. Imports
little, so that `info` of a capture starts at once."""

from kafkascope_analyzer.report.formatting import count, safe

PACKET_KINDS = {
    "n_duplicates": "seen twice",
    "n_not_tcp": "not TCP",
    "n_malformed": "malformed",
    "n_unsupported": "unsupported",
    "n_incomplete": "incomplete",
    "n_truncated": "cut by the snap length",
}
"""Columns of `captures` that count packets by kind, with their headings. All other packets are TCP segments."""


def cut_sentence(path: str | None, cut_at_byte: int | None, why: str | None, unread_bytes: int | None) -> str | None:
    """Returns the sentence about a file that could not be read whole; None for a file that could."""
    if cut_at_byte is None:
        return None
    unread = f"; {count(unread_bytes, 'byte')} could not be read" if unread_bytes else ""
    return f"{safe(path)}: byte {cut_at_byte}: {safe(why)}{unread}"


CUT_COLUMNS = ("path", "cut_at_byte", "cut_why", "unread_bytes")
"""Fields of an input of the manifest that are the arguments of `cut_sentence`, in order."""
