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

    @property
    def moments(self) -> set[int | None]:
        """The known times that tell when it began and ended; None stands for an end that the capture does not show."""
        before = set() if self.start_after_ns is None else {self.start_after_ns}
        last = set() if self.end_ns is None else {self.end_after_ns}
        return {self.start_ns, self.end_ns, *before, *last}
