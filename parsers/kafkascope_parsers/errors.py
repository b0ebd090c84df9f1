"""The roots of every error, by who must act."""


class CaptureError(Exception):
    """A capture cannot be read: says which file, at which byte, and why."""

    def __init__(self, why: str, *, name: str | None = None, byte: int | None = None) -> None:
        self.why, self.name, self.byte = why, name, byte
        super().__init__(str(self))

    def __str__(self) -> str:
        where = self.name or "capture"
        return f"{where}: byte {self.byte}: {self.why}" if self.byte is not None else f"{where}: {self.why}"


class DecodeError(Exception):
    """A message does not decode: says the byte offset and the field, never the payload."""


class UsageError(Exception):
    """The call cannot be carried out as asked: says what to do instead."""


class DamagedDatasetError(UsageError):
    """A file that a dataset lists is damaged or gone: says which file, and how to get the dataset back."""


class SparkError(Exception):
    """Spark failed (memory, disk, a lost process): says what happened and what to do. The tables are not affected."""
