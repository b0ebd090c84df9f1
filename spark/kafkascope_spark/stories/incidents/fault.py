"""`Fault`: begin and end of the fault itself, apart from its effects on clients; each as two times that enclose it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """Times of a fault. start_after_ns: last packet that shows that it had not begun; start_ns: first packet that shows
    it; end_after_ns: last packet that shows it; end_ns: first packet that shows that it was over. None where the
    capture does not show that."""

    start_after_ns: int | None = None
    start_ns: int | None = None
    end_after_ns: int | None = None
    end_ns: int | None = None
