"""The data inside a page of the HTML report, read back the way the page does: base64 of what zlib has deflated."""

import base64
import re
import zlib
from pathlib import Path

ISLAND = re.compile(r'id="data-(?:story|columns)">([^<]*)<')


def islands(page: Path) -> tuple[bytes, bytes]:
    """The story (JSON) and the columns (their layout as JSON, then their bytes) of a page."""
    story, columns = (zlib.decompress(base64.b64decode(text)) for text in ISLAND.findall(page.read_text()))
    return story, columns


def texts(page: Path) -> bytes:
    """The texts of a page: its data opened, without numbers, as base64 and numbers hold a short name by chance."""
    story, columns = islands(page)
    layout = columns[4 : 4 + int.from_bytes(columns[:4], "little")]
    return b"\n".join([ISLAND.sub("", page.read_text()).encode(), story, layout])
