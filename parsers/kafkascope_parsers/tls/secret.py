"""`Secret`: key material that is never shown in a text or pickled."""

import hmac
from typing import NoReturn


class Secret:
    """Bytes of a key or of what keys are derived from. `reveal` gives them to a cipher; `repr` and `str` show only
    their number, and pickling fails: a secret cannot get into a saved state, a report or an error by accident."""

    __slots__ = ("_value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: bytes) -> None:
        self._value = value

    def reveal(self) -> bytes:
        """The bytes."""
        return self._value

    def __len__(self) -> int:
        return len(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._value, other._value)

    def __repr__(self) -> str:
        return f"Secret({len(self._value)} bytes)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled")
