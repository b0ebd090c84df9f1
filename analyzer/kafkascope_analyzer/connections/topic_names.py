"""`TopicNames`: the names of topics that messages identify only by id (KIP-516)."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc


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
        codes = entries.indices.slice(0, len(names.dictionary)).take(names.indices)
        if codes.null_count:
            codes = pc.coalesce(codes, entries.indices.slice(len(names.dictionary)).take(ids.indices))
        return pa.DictionaryArray.from_arrays(codes, entries.dictionary)


def _without_empty(names: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Returns the names, with null in place of empty ones."""
    return pc.if_else(pc.equal(names, ""), None, names)
