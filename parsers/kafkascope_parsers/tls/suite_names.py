"""Names of cipher suites (suite_names.tsv) and of groups for key exchange. Source: IANA's registries of TLS."""

from functools import cache
from importlib.resources import files

_GREASE_STEP = 0x1010
GREASE = frozenset(0x0A0A + n * _GREASE_STEP for n in range(16))
"""Numbers that clients send in place of suites, versions and extensions, and that mean nothing (RFC 8701)."""
_GROUPS = {
    23: "secp256r1",
    24: "secp384r1",
    25: "secp521r1",
    29: "x25519",
    30: "x448",
    256: "ffdhe2048",
    257: "ffdhe3072",
    258: "ffdhe4096",
    259: "ffdhe6144",
    260: "ffdhe8192",
    4587: "SecP256r1MLKEM768",
    4588: "X25519MLKEM768",
    4589: "SecP384r1MLKEM1024",
}


def suite_name(number: int) -> str:
    """The name of a cipher suite, or its number."""
    return _suites().get(number) or f"0x{number:04x}"


def group_name(number: int) -> str:
    """The name of a group, or its number."""
    return _GROUPS.get(number) or f"0x{number:04x}"


@cache
def _suites() -> dict[int, str]:
    """Number -> name."""
    lines = (files(__package__) / "suite_names.tsv").read_text("utf-8").splitlines()
    return {int(number, 16): name for number, name in (line.split("\t") for line in lines)}
