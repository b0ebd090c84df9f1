"""`TopicNames`: the names of topics that messages give by id alone (KIP-516)."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class TopicNames:
    """ids, names: two arrays of one length. An id that is not among them has no name: null."""

    ids: pa.Array
    names: pa.Array

    @classmethod
    def of(cls, topics: Mapping[str, str]) -> "TopicNames":
        """topics: names by topic id."""
        return cls(pa.array(list(topics), pa.string()), pa.array(list(topics.values()), pa.string()))

    def by_id(self, ids: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """The name of each id."""
        return self.names.take(pc.index_in(ids, self.ids))

    def complete(self, names: pa.ChunkedArray, ids: pa.ChunkedArray) -> pa.ChunkedArray:
        """The names of topics, looked up by id where there is no name (or an empty one)."""
        named = pc.if_else(pc.equal(names, ""), None, names)
        if not len(self.ids) or named.null_count == 0:
            return named
        return pc.coalesce(named, self.by_id(ids))

    def complete_coded(self, names: pa.DictionaryArray, ids: pa.DictionaryArray) -> pa.DictionaryArray:
        """`complete` for names and ids with dictionaries, which are all that is looked at where that suffices."""
        if names.null_count == 0 and pc.index(names.dictionary, "").as_py() < 0:
            return names
        if names.null_count == len(names) and len(self.ids) and (by_id := self.by_id(ids.dictionary)).null_count == 0:
            return pa.DictionaryArray.from_arrays(ids.indices, by_id)
        texts = self.complete(
            pa.chunked_array([names.dictionary_decode()]), pa.chunked_array([ids.dictionary_decode()])
        )
        return texts.combine_chunks().dictionary_encode()
