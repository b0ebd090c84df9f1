"""Saves the open state of a scan to a file, and loads it: open connections, half frames, requests without an answer.

The file is a pickle of a few known classes. Loading only builds objects of these: a pickle that names anything else
(such as one that was made to run code) is refused. It holds parts of the captured streams, so only its owner may read
it, like the captures.
"""

import io
import pickle
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafkascope_parsers.errors import UsageError

_OURS = ("kafkascope_parsers.", "kafkascope_analyzer.scan.", "kafkascope_analyzer.read.")
_OTHERS = frozenset(
    {
        ("builtins", "bytearray"),
        ("builtins", "set"),
        ("collections", "Counter"),
        ("collections", "defaultdict"),
        ("collections", "OrderedDict"),
        ("builtins", "int"),
        ("builtins", "list"),
        ("builtins", "dict"),
        ("_operator", "getitem"),
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("numpy", "record"),
        ("numpy", "void"),
        ("numpy", "bytes_"),
        ("numpy", "int32"),
        ("numpy", "int64"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.numeric", "_frombuffer"),
        ("numpy._core.multiarray", "scalar"),
        ("pyarrow.lib", "_reconstruct_table"),
        ("pyarrow.lib", "_restore_array"),
        ("pyarrow.lib", "chunked_array"),
        ("pyarrow.lib", "field"),
        ("pyarrow.lib", "py_buffer"),
        ("pyarrow.lib", "schema"),
        ("pyarrow.lib", "type_for_alias"),
    }
)
"""Names in states besides our own classes. `getitem` makes the generic alias of a class: Growing[np.void]."""


def save_state(file: Path, state: object) -> None:
    """Writes a state to a file that only its owner can read. Raises OSError."""
    file.unlink(missing_ok=True)  # an existing file has its own permissions
    file.touch(mode=0o600)
    with file.open("wb") as out:
        pickle.dump(state, out, protocol=5)


def table_bytes(table: pa.Table) -> bytes:
    """Returns a table as bytes for a state, whatever its types."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(unify_dictionaries=True)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def table_of(data: bytes) -> pa.Table:
    """Returns the table from the result of `table_bytes`."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()


def load_state(file: Path) -> Any:
    """Returns the state that `save_state` wrote. Raises UsageError where the file is damaged or is something else."""
    try:
        return _Loader(io.BytesIO(file.read_bytes())).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, TypeError, ValueError) as error:
        raise UsageError(f"{file.name}: the saved state of the ingest is damaged ({error})") from error


class _Loader(pickle.Unpickler):
    """Loads our own classes and those in _OTHERS."""

    def find_class(self, module: str, name: str) -> Any:
        """Returns the class that a pickle names. Raises UnpicklingError for a class that states do not contain."""
        if (module, name) in _OTHERS:
            return super().find_class(module, name)
        if module.startswith(_OURS) and "." not in name:
            __import__(module)
            found = getattr(sys.modules[module], name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"it names {module}.{name}")
