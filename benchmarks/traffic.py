"""The kinds of traffic that are measured, and where their pieces lie. Imports nothing large: see `measuring`."""

from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"
KINDS = ("small", "bulk", "short")
SERVER_PORTS = (29092, 9092, 9093)


def piece(kind: str) -> Path:
    """The capture that the kind is tiled from."""
    return DATA / f"{kind}.pcapng.zst"
