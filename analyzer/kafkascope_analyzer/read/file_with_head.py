"""A file whose first bytes can be looked at before it is read, even where it is not seekable."""

from kafkascope_analyzer.read.place import ReadableFile


class FileWithHead:
    """A file that is read from its first byte on, after a look at its head."""

    def __init__(self, file: ReadableFile, head_bytes: int) -> None:
        self._file = file
        self.n_read = 0
        self._head = b""
        self._head = self._read_fully(head_bytes)

    def head(self) -> bytes:
        """Returns the first head_bytes, or the whole file where it is shorter. They remain to be read."""
        return self._head

    def read(self, size: int = -1) -> bytes:
        """Reads like a file."""
        if self._head:
            given, self._head = self._head[:size] if size >= 0 else self._head, self._head[size:] if size >= 0 else b""
        else:
            given = self._file.read(size)
            self.n_read += len(given)
        return given

    def readinto(self, target: memoryview) -> int:
        """Reads like a file."""
        if self._head:
            n = min(len(target), len(self._head))
            target[:n], self._head = self._head[:n], self._head[n:]
            return n
        n = self._file.readinto(target) or 0
        self.n_read += n
        return n

    def _read_fully(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._file.read(size - len(data))
            if not more:
                break
            data += more
        self.n_read += len(data)
        return data
