"""What each owner should do about an incident, and which actions an incident listed before already has."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kafkascope_analyzer.report.formatting import safe, visible
from kafkascope_analyzer.report.model.incidents.model import Incident, OwnerAction
from kafkascope_spark.stories.incidents.actions import Action
from kafkascope_spark.stories.incidents.table import IncidentRow

_OWNERS = {
    "brokers": "operator of the brokers",
    "network": "operator of the network",
    "clients": "owner of the clients",
}


def actions_of(incident: IncidentRow, only: Collection[str] | None) -> tuple[OwnerAction, ...]:
    """Returns what each owner should do, with the owner in words. only: names of clients; actions for owners of clients
    are then limited to those that name one of these clients, or name none. None: all actions."""
    actions = [action for action in incident.actions if only is None or _is_for(action, only)]
    return tuple(OwnerAction(_owner(action), visible(action.text)) for action in actions)


def _is_for(action: Action, names: Collection[str]) -> bool:
    """Whether the action is for one of the clients. An action names its library, then some of its clients."""
    _, colon, listed = (action.who or "").partition(": ")
    return not colon or listed.endswith(" more") or not set(names).isdisjoint(listed.split(", "))


def _owner(action: Action) -> str:
    """Returns the owner in words: `operator of the brokers`, `owner of the clients (librdkafka: worker-3)`."""
    return _OWNERS[action.owner] + (f" ({safe(action.who)})" if action.who else "")


def with_repeats(incidents: Sequence[Incident]) -> tuple[Incident, ...]:
    """Returns the incidents in their order; same_as of each action is the title of the first incident with the same
    action for the same owner."""
    first: dict[OwnerAction, str] = {}
    marked = []
    for incident in incidents:
        actions = tuple(replace(action, same_as=first.get(action)) for action in incident.actions)
        marked.append(replace(incident, actions=actions))
        for action in incident.actions:
            first.setdefault(action, incident.title)
    return tuple(marked)


def action_texts(actions: Sequence[OwnerAction]) -> Iterator[tuple[str, str]]:
    """Yields owner and text of the actions that no incident listed before has; then the owners whose actions are the
    same as for one listed before, together for each such incident."""
    repeated: dict[str, list[str]] = {}
    for action in actions:
        if action.same_as is None:
            yield action.owner, action.text
        else:
            repeated.setdefault(action.same_as, []).append(action.owner)
    for title, owners in repeated.items():
        yield "what to do" if len(owners) == len(actions) else "; ".join(owners), f"as for {title}"
