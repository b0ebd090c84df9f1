"""Actions that several incidents have are written once; later incidents name the first."""

from dataclasses import fields
from typing import Any

from kafkascope_analyzer.report.model.incidents.actions import action_texts, with_repeats
from kafkascope_analyzer.report.model.incidents.model import Incident, OwnerAction

OPERATOR, JAVA, GO = "operator of the brokers", "owner of the clients (Java: a)", "owner of the clients (sarama: b)"


def incident(title: str, *actions: OwnerAction) -> Incident:
    values: dict[str, Any] = {field.name: None for field in fields(Incident)}
    return Incident(**(values | {"title": title, "actions": actions}))


def test_an_action_that_an_earlier_incident_has_for_the_same_owner_names_that_incident() -> None:
    first = incident("node 1", OwnerAction(OPERATOR, "Restart one."), OwnerAction(JAVA, "Lower x."))
    second = incident("node 2", OwnerAction(OPERATOR, "Restart one."), OwnerAction(GO, "Lower x."))
    third = incident("node 3", OwnerAction(OPERATOR, "Restart two."), *second.actions, OwnerAction(JAVA, "Lower x."))
    marked = with_repeats([first, second, third])
    assert [[action.same_as for action in each.actions] for each in marked] == [
        [None, None],
        ["node 1", None],
        [None, "node 1", "node 2", "node 1"],
    ]
    assert list(action_texts(marked[0].actions)) == [(OPERATOR, "Restart one."), (JAVA, "Lower x.")]
    assert list(action_texts(marked[2].actions)) == [
        (OPERATOR, "Restart two."),
        (f"{OPERATOR}; {JAVA}", "as for node 1"),
        (GO, "as for node 2"),
    ]


def test_an_incident_whose_actions_are_all_those_of_an_earlier_one_has_a_single_line() -> None:
    first = incident("node 1", OwnerAction(OPERATOR, "Restart one."), OwnerAction(JAVA, "Lower x."))
    (_, again) = with_repeats([first, incident("node 2", *first.actions)])
    assert list(action_texts(again.actions)) == [("what to do", "as for node 1")]
