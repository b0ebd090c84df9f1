"""Arguments of kernels: the kind of each argument, for which machine code is made, and its values in C.

Machine code takes its arguments as numba hands them from one compiled function to another (numba.core.datamodel): a
number as itself, a row of a structured array as its address, a tuple as its items one after another, and an array as
two addresses of owners (none here), how many items it has, the bytes of one, its address, its shape and its strides.
"""

import ctypes
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

_ADDRESS, _SIZE = ctypes.c_void_p, ctypes.c_ssize_t
_PLAIN: dict[type, type[Any]] = {
    int: ctypes.c_int64,
    bool: ctypes.c_bool,
    float: ctypes.c_double,
    type(None): _ADDRESS,
}
_AS_PYTHON: dict[np.dtype[Any], type] = {np.dtype(kind): kind for kind in (int, bool, float)}
"""numpy types of numbers with the same machine code as Python's."""
_LARGEST = (1 << 63) - 1
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
"""The flags of an array (NPY_ARRAY_*) that machine code depends on; contiguous: in the order of C."""
_FLAGS = CONTIGUOUS | ALIGNED | WRITEABLE
_ADDRESS_AT = object.__basicsize__
"""Offset of the data address in a numpy array (PyArrayObject_fields, which compiled extensions also read this way):
`array.ctypes.data` takes longer than all the rest of a call."""


class ArrayKind(NamedTuple):
    """Properties of an array on which machine code depends. flags: each one permits more operations."""

    dtype: np.dtype[Any]
    n_dimensions: int
    flags: int

    @property
    def is_contiguous(self) -> bool:
        """Whether the items follow each other without gaps."""
        return bool(self.flags & CONTIGUOUS)

    @property
    def is_aligned(self) -> bool:
        """Whether all items are aligned."""
        return bool(self.flags & ALIGNED)

    @property
    def is_writeable(self) -> bool:
        """Whether it may be written to."""
        return bool(self.flags & WRITEABLE)


class RowKind(NamedTuple):
    """A row of a structured array."""

    dtype: np.dtype[Any]


class TupleKind(NamedTuple):
    """A tuple. made_by: its class; machine code finds the items of a named tuple by the fields of the class."""

    made_by: type
    items: tuple[Any, ...]


Kind = ArrayKind | RowKind | TupleKind | np.dtype[Any] | type
"""The kind of one argument: for a numpy number without an equal Python class its dtype, for other values the class."""


def take_apart(value: Any, c_values: list[Any]) -> Kind:
    """Appends an argument's values in C to c_values, and returns its kind. Raises TypeError for values that no kernel
    takes."""
    if isinstance(value, np.ndarray):
        address = _ADDRESS.from_address(id(value) + _ADDRESS_AT).value
        c_values += (0, 0, value.size, value.itemsize, address, *value.shape, *value.strides)
        return ArrayKind(value.dtype, value.ndim, value.flags.num & _FLAGS)
    if isinstance(value, tuple):
        return TupleKind(type(value), tuple([take_apart(item, c_values) for item in value]))
    if isinstance(value, np.void):
        c_values.append(np.frombuffer(value, np.uint8).ctypes.data)
        return RowKind(value.dtype)
    if isinstance(value, np.generic):
        c_values.append(value.item())
        return _AS_PYTHON.get(value.dtype, value.dtype)
    if type(value) not in _PLAIN or (type(value) is int and abs(value) > _LARGEST):
        raise TypeError(f"a kernel cannot be called with {value!r}")
    c_values.append(value)
    return type(value)


def c_types(kind: Kind) -> Iterator[type[Any]]:
    """Yields the C types of the values of an argument."""
    if isinstance(kind, ArrayKind):
        yield from (_ADDRESS, _ADDRESS, _SIZE, _SIZE, _ADDRESS)
        yield from [_SIZE] * 2 * kind.n_dimensions
    elif isinstance(kind, TupleKind):
        for item in kind.items:
            yield from c_types(item)
    elif isinstance(kind, RowKind):
        yield _ADDRESS
    else:
        yield _PLAIN[kind] if isinstance(kind, type) else np.ctypeslib.as_ctypes_type(kind)
