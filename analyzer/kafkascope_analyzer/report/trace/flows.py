"""Flows: numbers that join slices which belong together, as a recovery and the request that met its error."""

from hashlib import blake2b


def flow_of(identity: str) -> int:
    """Returns the flow number of a recovery or an incident: 64 bits, the same for the same id."""
    return int.from_bytes(blake2b(identity.encode(), digest_size=8).digest(), "little")
