"""Which addresses are one cluster, by what messages say of them."""

import random

from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.resolve.cluster.joined_addresses import Advertised, JoinedAddresses

ENDS = [(f"10.0.0.{n}", 9092) for n in range(8)]
A, B, C, D, *_ = ENDS


def sets(carried, *advertised):
    return JoinedAddresses(carried, [Advertised(address, by, cluster_id) for address, by, cluster_id in advertised])


def test_an_address_belongs_to_the_id_that_most_of_its_connections_carry():
    assert sets({A: {"one": (2, 5), "other": (3, 1)}}).set_of(A) == "other"


def test_of_ids_that_as_many_connections_carry_the_last_one_counts():
    assert sets({A: {"one": (2, 9), "other": (2, 8)}}).set_of(A) == "one"


def test_what_responses_with_an_id_advertise_belongs_to_it():
    found = sets({A: {"one": (1, 1)}}, (B, A, "one"), (C, A, "one"))
    assert {found.set_of(end) for end in (A, B, C)} == {"one"}
    assert found.set_of(D) is None


def test_an_address_that_carries_an_id_stays_with_it_whoever_advertises_it():
    found = sets({A: {"one": (1, 1)}, B: {"other": (1, 1)}}, (B, A, "one"))
    assert (found.set_of(A), found.set_of(B)) == ("one", "other")


def test_what_two_ids_advertise_belongs_to_neither():
    found = sets({A: {"one": (1, 1)}, B: {"other": (1, 1)}}, (C, A, "one"), (C, B, "other"))
    assert found.set_of(C) is None


def test_addresses_that_responses_without_an_id_name_are_one_with_the_address_that_answered():
    found = sets({}, (B, A, None), (C, B, None))
    assert found.set_of(A) == found.set_of(B) == found.set_of(C)


def test_they_have_the_id_that_one_of_them_has():
    found = sets({C: {"one": (1, 1)}}, (B, A, None), (C, B, None))
    assert found.set_of(A) == "one"


def test_two_ids_are_never_joined():
    found = sets({A: {"one": (1, 1)}, B: {"other": (1, 1)}}, (A, C, None), (B, C, None))
    assert (found.set_of(A), found.set_of(B)) == ("one", "other")


def test_a_host_with_several_ports_is_one_where_no_two_ids_are_on_it():
    other_port, third = (A[0], 9093), (A[0], 9094)
    assert sets({A: {"one": (1, 1)}}, (other_port, B, None)).set_of(B) == "one"
    found = sets({A: {"one": (1, 1)}, third: {"other": (1, 1)}}, (other_port, B, None))
    assert found.set_of(B) not in ("one", "other")


@given(
    st.dictionaries(st.sampled_from(ENDS), st.sampled_from(["one", "other", "third"])),
    st.lists(st.tuples(st.sampled_from(ENDS), st.sampled_from(ENDS), st.sampled_from([None, "one", "other"]))),
    st.randoms(),
)
def test_the_order_of_what_is_known_does_not_matter(
    ids: dict[tuple[str, int], str], named: list[tuple[tuple[str, int], tuple[str, int], str | None]], r: random.Random
) -> None:
    carried = {end: {cluster_id: (1, 1)} for end, cluster_id in ids.items()}
    found = sets(carried, *named)
    shuffled = r.sample(named, len(named))
    again = sets(dict(r.sample(list(carried.items()), len(carried))), *shuffled)
    of_end = [found.set_of(end) for end in ENDS]
    assert of_end == [again.set_of(end) for end in ENDS]
    assert all(found.set_of(end) == cluster_id for end, cluster_id in ids.items())
