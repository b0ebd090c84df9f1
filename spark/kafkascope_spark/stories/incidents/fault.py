"""When a fault began and ended, apart from those who suffered from it: each as two times, between which it was."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """The times of a fault. start_after_ns: the last packet that shows that it had not begun; start_ns: the first that
    shows it; end_after_ns: the last that shows it; end_ns: the first that shows that it was over. None where the
    capture does not show that."""

    start_after_ns: int | None = None
    start_ns: int | None = None
    end_after_ns: int | None = None
    end_ns: int | None = None
