"""Names of topics that messages give by id: rows with dictionaries get the same names as rows of texts."""

import random

import pyarrow as pa
import pytest

from kafkascope_analyzer.connections.topic_names import TopicNames

TOPICS = TopicNames.of({"id-a": "orders", "id-b": "payments", "id-c": "orders"})
BY_ID = {"id-a": "orders", "id-b": "payments", "id-c": "orders"}


def coded(texts: list[str | None]) -> pa.DictionaryArray:
    return pa.array(texts, pa.string()).dictionary_encode()


def expected(names: list[str | None], ids: list[str | None]) -> list[str | None]:
    """The name, or that of the id where there is none, or none."""
    return [name or BY_ID.get(topic_id or "") for name, topic_id in zip(names, ids, strict=True)]


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        (["orders", "payments"], [None, None]),
        ([None, None], ["id-a", "id-b"]),
        ([None, None, None], ["id-a", "id-z", None]),
        (["", "orders", None], ["id-b", "id-b", "id-b"]),
        (["", None], [None, None]),
        ([], []),
    ],
)
def test_a_topic_without_a_name_gets_that_of_its_id(names: list[str | None], ids: list[str | None]) -> None:
    completed = TOPICS.complete_coded(coded(names), coded(ids))
    assert completed.to_pylist() == expected(names, ids)
    completed.validate(full=True)


def test_codes_and_texts_give_the_same_names() -> None:
    chosen = random.Random(3)
    names = [chosen.choice([None, "", "orders", "audit"]) for _ in range(2000)]
    ids = [chosen.choice([None, "id-a", "id-b", "id-c", "id-z"]) for _ in range(2000)]
    completed = TOPICS.complete_coded(coded(names), coded(ids))
    assert completed.to_pylist() == expected(names, ids)
    texts = TOPICS.complete(pa.chunked_array([pa.array(names, pa.string())]), pa.chunked_array([pa.array(ids)]))
    assert texts.to_pylist() == expected(names, ids)
    assert len(set(completed.dictionary.to_pylist())) == len(completed.dictionary)


def test_without_any_known_id_empty_names_are_null() -> None:
    assert TopicNames.of({}).complete_coded(coded(["", "orders"]), coded(["id-a", None])).to_pylist() == [
        None,
        "orders",
    ]
