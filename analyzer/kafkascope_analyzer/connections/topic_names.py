"""`TopicNames`: the names of topics that messages identify only by id (KIP-516)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_NO_NAME = -1
"""Stands for the code of a topic whose name is not known."""


@dataclass(frozen=True, slots=True)
class TopicNames:
    """ids, names: two arrays of equal length. An id that is not among them has no name: null."""

    ids: pa.Array
    names: pa.Array

    @classmethod
    def of(cls, topics: Mapping[str, str]) -> "TopicNames":
        """Makes the table from a mapping. topics: names by topic id."""
        return cls(pa.array(list(topics), pa.string()), pa.array(list(topics.values()), pa.string()))

    def by_id(self, ids: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Returns the name of each id."""
        return self.names.take(pc.index_in(ids, self.ids))

    def complete(self, names: pa.ChunkedArray, ids: pa.ChunkedArray) -> pa.ChunkedArray:
        """Returns the names of topics, looked up by id where there is no name (or an empty one)."""
        named = _without_empty(names)
        if not len(self.ids) or named.null_count == 0:
            return named
        return pc.coalesce(named, self.by_id(ids))

    def complete_coded(self, names: pa.DictionaryArray, ids: pa.DictionaryArray) -> pa.DictionaryArray:
        """Does the same as `complete` for dictionary-encoded names and ids: texts are looked up once for each entry of
        a dictionary, and rows only by their codes."""
        if names.null_count == 0 and pc.index(names.dictionary, "").as_py() < 0:
            return names
        entries = pa.concat_arrays([_without_empty(names.dictionary), self.by_id(ids.dictionary)]).dictionary_encode()
        codes = entries.indices.fill_null(_NO_NAME).to_numpy()
        of_name, of_id = np.split(codes, [len(names.dictionary)])
        completed = _codes_of(names, of_name)
        unnamed = np.flatnonzero(completed == _NO_NAME)
        completed[unnamed] = _codes_of(ids.take(pa.array(unnamed)), of_id)
        codes_or_null = pa.array(completed, mask=completed == _NO_NAME)
        return pa.DictionaryArray.from_arrays(codes_or_null, entries.dictionary)


def _without_empty(names: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Returns the names, with null in place of empty ones."""
    return pc.if_else(pc.equal(names, ""), None, names)


def _codes_of(rows: pa.DictionaryArray, code_of_entry: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the code of each row, from that of its entry in the rows' dictionary; _NO_NAME where the row is null."""
    entries = rows.indices.fill_null(len(code_of_entry)).to_numpy()
    return np.asarray(np.append(code_of_entry, np.int32(_NO_NAME))[entries])
