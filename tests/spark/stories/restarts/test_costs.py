"""Which stalls a restart caused, from incidents and stalls written by hand. Times are seconds."""

from dataclasses import replace

from kafkascope_analyzer.dataset.row_types import empty_row
from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.topology_facts import Move
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.restarts.costs import Family, costs, families_of
from kafkascope_spark.stories.restarts.outage import Outage
from kafkascope_spark.stories.stalls.table import Stall

S = 1_000_000_000


def incident(name: str, kind: str, begin: float, end: float | None) -> IncidentRow:
    end_ns = None if end is None else int(end * S)
    return replace(empty_row(IncidentRow), incident_id=name, kind=kind, start_ns=int(begin * S), end_ns=end_ns)


def stall(name: str, of: str | None, node: int | None, begin: float, end: float | None) -> Stall:
    row = empty_row(Stall)
    row.stall_id, row.incident_id, row.node_id, row.from_ns = name, of, node, int(begin * S)
    row.to_ns = None if end is None else int(end * S)
    return row


def outage(node: int | None, begin: float, back: float | None, of: str | None = None) -> Outage:
    back_ns = None if back is None else int(back * S)
    return Outage(node, f"node {node}", int(begin * S), int(begin * S), back_ns, None, None, of)


def move(at: float, from_node: int, to_node: int) -> Move:
    return Move(int(at * S), from_node, to_node)


def family(root: IncidentRow, *stalls: Stall) -> Family:
    made = Family(root, root.start_ns)
    made.take(root, stalls)
    return made


def charged(outages: list[Outage], families: list[Family], stalls: list[Stall], moves: list[Move]) -> list[list[str]]:
    return [[stall.stall_id for stall in of] for of in costs(outages, families, stalls, moves)]


def test_a_family_lasts_from_the_first_incident_to_the_last_client_served() -> None:
    down, moved = incident("down", "broker_down", 10, 14), incident("moved", "leader_move", 9, 11)
    waits = [stall("late", "moved", 3, 11, 25), stall("own", "down", 2, 10, 12), stall("other", None, 2, 1, 2)]
    (found,) = families_of({"down": down, "moved": down}, [down, moved], waits)
    assert (found.root, found.start_ns, found.end_ns) == (down, 9 * S, 25 * S)
    assert [each.stall_id for each in found.stalls] == ["own", "late"]
    open_one = family(down, stall("waits", "down", 2, 10, None))
    assert open_one.end_ns == FOREVER


def test_its_own_incident_and_the_moves_around_it() -> None:
    """Node 1 goes down at 10 s and is back at 14 s; its leaders moved to node 3 at 9 s, and back at 16 s."""
    own = family(incident("down", "broker_down", 10, 14), stall("own", "down", 1, 10, 14))
    away = family(incident("away", "leader_move", 9, 9.5), stall("away", "away", 1, 9, 9.5))
    back = family(incident("back", "leader_move", 16, 17), stall("back", "back", 3, 16, 17))
    later = family(incident("later", "leader_move", 60, 61), stall("later", "later", 3, 60, 61))
    moves = [move(9, 1, 3), move(16, 3, 1), move(60, 3, 2)]
    assert charged([outage(1, 9, 14, "down")], [own, away, back, later], [], moves) == [["own", "away", "back"]]


def test_a_move_belongs_to_the_restart_from_which_leaders_moved() -> None:
    """Leaders of node 1 move to node 2, which restarted too."""
    moved = family(incident("moved", "leader_move", 20, 21), stall("waited", "moved", 1, 20, 21))
    both = [outage(2, 10, 19), outage(1, 19.5, None)]
    assert charged(both, [moved], [], [move(20, 1, 2)]) == [[], ["waited"]]
    assert charged(both, [moved], [], [move(20, 3, 2)]) == [["waited"], []]
    assert charged(both, [moved], [], [move(30, 1, 2)]) == [[], []], "no leader moved near the incident"
    assert charged([outage(None, 10, None)], [moved], [], [move(20, 1, 2)]) == [[]]


def test_an_incident_of_another_kind_is_no_move() -> None:
    lost = family(incident("lost", "connection", 20, 21), stall("waited", "lost", 2, 20, 21))
    assert charged([outage(1, 19, None)], [lost], [], [move(20, 1, 2)]) == [[]]


def test_other_waits_at_the_broker_while_it_was_away() -> None:
    """Before it was down, behind its return, and at another broker nobody waited for the restart; a wait that counts
    for another broker's incident counts there."""
    elsewhere = family(incident("frozen", "broker_frozen", 11, 13), stall("taken", "frozen", 1, 11, 13))
    waits = [
        stall("before", None, 1, 8, 9),
        stall("in it", None, 1, 9.5, 12),
        stall("at its end", None, 1, 14, 15),
        stall("behind", None, 1, 14.5, 15),
        stall("another broker", None, 2, 11, 12),
        stall("no broker", None, None, 11, 12),
        elsewhere.stalls[0],
    ]
    assert charged([outage(1, 9, 14)], [elsewhere], waits, []) == [["in it", "at its end"]]
    still_away = charged([outage(1, 9, None)], [], waits[3:4], [])
    assert still_away == [["behind"]]


def test_a_stall_counts_for_one_restart() -> None:
    """Two restarts of one node that overlap: its release shows another one than its incident."""
    own = family(incident("down", "broker_down", 10, 14), stall("own", "down", 1, 10, 14))
    twice = [outage(1, 10, 14, "down"), outage(1, 11, 20)]
    assert charged(twice, [own], [own.stalls[0], stall("next", None, 1, 12, 13)], []) == [["own", "next"], []]
