"""Finds the instances of a field that must not be shown: applies the conditions of schema.secrets to columns."""

from collections.abc import Callable

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_parsers.machine.columns import Columns
from kafkascope_parsers.machine.gather import gather_strings
from kafkascope_parsers.schema.secrets import ALWAYS, PASSWORD_TYPE, SECRET_NAME
from kafkascope_parsers.schema.tree import Node

_Says = Callable[[Node], NDArray[np.bool_]]
"""Function that takes a field, and returns for each of its instances whether it makes another field secret."""


def is_length_only(node: Node) -> bool:
    """Whether only the length of a leaf may ever be shown: records, and fields that are always secret."""
    return node.secret == ALWAYS or node.type == "records"


def hidden(columns: Columns, node: Node) -> NDArray[np.bool_]:
    """Returns whether only the length of each instance of a leaf may be shown: bool, one per instance of its level."""
    n = columns.size(node)
    when = node.secret
    if when is None or is_length_only(node):
        return np.full(n, is_length_only(node))
    if when.is_report:
        may_repeat = columns.report_may_repeat
        return np.ones(n, np.bool_) if may_repeat is None else may_repeat[columns.row(node)]
    out = np.zeros(n, np.bool_)
    for path in when.sensitive:
        out |= _of_outer(columns, node, path, lambda says: columns.values(says) != 0)
    for path in when.types:
        out |= _of_outer(columns, node, path, lambda says: columns.values(says) == PASSWORD_TYPE)
    for path in when.names:
        out |= _of_outer(columns, node, path, lambda says: _is_secret_name(columns, says))
    return out


def _of_outer(columns: Columns, node: Node, path: str, says: _Says) -> NDArray[np.bool_]:
    """Returns the result of `says` for the field at a path, in the same or an enclosing struct, for each instance of
    the node."""
    field = columns.message.node(path)
    return says(field)[columns.outer(node, field.level)]


def _is_secret_name(columns: Columns, node: Node) -> NDArray[np.bool_]:
    if not columns.has(node):
        return np.zeros(columns.size(node), np.bool_)
    names = gather_strings(columns.buf, columns.offsets(node), columns.lengths(node)).dictionary_encode()
    matches = pc.match_substring_regex(names.dictionary, pattern=SECRET_NAME)
    of_each = matches.take(names.indices).fill_null(False)
    return np.asarray(of_each.to_numpy(zero_copy_only=False), np.bool_)
