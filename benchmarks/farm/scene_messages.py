"""Changes of a scene's messages: fields, whole exchanges of other APIs, blindly changed frames, record batches."""

import random

from benchmarks.farm.hostile_values import change
from benchmarks.farm.message_tree import Leaf, NotReadError, read_tree, sized
from benchmarks.farm.mutations import mutated
from benchmarks.farm.scene import Scene, Step, Talk
from benchmarks.farm.vectors import Vector, assignments, exchanges, record_sets

from kafkascope_parsers.schema import message_type

_STEP_NS = 200_000


def odd_fields(r: random.Random, scene: Scene) -> None:
    """Fields of real messages have values at the limits of their types, and hostile strings."""
    for talk in some_talks(r, scene, lambda talk: bool(talk.frames())):
        for place in r.choices(talk.frames(), k=r.choice((1, 2, 5, 20))):
            step = talk.steps[place]
            tree = step.tree()
            if tree is not None:
                change(r, tree)
                step.raw = sized(tree.write())
                talk.is_changed = True


def other_apis(r: random.Random, scene: Scene) -> None:
    """Exchanges of any API, whose values are random or hostile, between those of a real client."""
    for talk in some_talks(r, scene):
        for _ in range(r.choice((1, 2, 6, 25))):
            insert_exchange(r, talk, *odd_exchange(r))


def blind_frames(r: random.Random, scene: Scene) -> None:
    """Bytes of frames, their sizes included, are changed blindly."""
    for talk in some_talks(r, scene, lambda talk: any(step.raw for step in talk.steps)):
        steps = [step for step in talk.steps if step.raw]
        for step in r.choices(steps, k=r.choice((1, 2, 5))):
            step.raw = mutated(r, step.raw)
            talk.is_changed = True


def odd_records(r: random.Random, scene: Scene) -> None:
    """Produce requests and Fetch responses with mutated record sets, also of other magics and compressions."""
    for talk in some_talks(r, scene):
        for _ in range(r.choice((1, 2, 4))):
            ask, answer = odd_exchange(r, r.choice((0, 1)), odd=0.3)
            insert_exchange(r, talk, _with_records(r, ask), _with_records(r, answer))


def odd_members(r: random.Random, scene: Scene) -> None:
    """JoinGroup and SyncGroup with mutated metadata and assignments of consumers, Streams and Connect."""
    for talk in some_talks(r, scene):
        for _ in range(r.choice((1, 2, 4))):
            ask, answer = odd_exchange(r, r.choice((11, 14)), odd=0.2)
            insert_exchange(r, talk, _with_assignment(r, ask), _with_assignment(r, answer))


def some_talks(r: random.Random, scene: Scene, usable=lambda talk: True) -> list[Talk]:  # type: ignore[no-untyped-def]
    """One to three conversations that are usable, if there are any."""
    talks = [talk for talk in scene.talks if usable(talk)]
    return r.sample(talks, min(len(talks), r.choice((1, 1, 2, 3))))


def odd_exchange(r: random.Random, key: int | None = None, odd: float = 0.6) -> tuple[Vector, Vector]:
    """A request and a response of the same version, with fields changed in that many of them."""
    by_key = exchanges()
    asks, answers = by_key[r.choice(list(by_key)) if key is None else key]
    ask = r.choice(asks)
    same = [vector for vector in answers if vector.version == ask.version] or [r.choice(answers)]
    return _odd(r, ask, odd), _odd(r, r.choice(same), odd)


def insert_exchange(r: random.Random, talk: Talk, ask: Vector, answer: Vector | None, place: int | None = None) -> None:
    """Puts an exchange between the steps of a conversation, not before the handshake."""
    place = r.randint(min(3, len(talk.steps)), len(talk.steps)) if place is None else place
    ts_ns = talk.steps[place - 1].ts_ns if place else talk.steps[0].ts_ns
    number = r.randrange(1 << 31).to_bytes(4, "big")
    steps = [Step(ts_ns + _STEP_NS, 0, sized(ask.raw[:4] + number + ask.raw[8:]), api=(ask.api_key, ask.version))]
    if answer is not None:
        steps.append(Step(ts_ns + 2 * _STEP_NS, 1, sized(number + answer.raw[4:]), api=(ask.api_key, ask.version)))
    talk.steps[place:place] = steps
    talk.is_changed = True


def _odd(r: random.Random, vector: Vector, odd: float) -> Vector:
    if r.random() > odd:
        return vector
    try:
        tree = read_tree(message_type(vector.api_key, vector.direction), vector.raw, vector.version)
    except NotReadError:
        return vector
    change(r, tree)
    return Vector(vector.api_key, vector.direction, vector.version, tree.write())


def _replaced(r: random.Random, vector: Vector, kinds: tuple[str, ...], values: tuple[bytes, ...]) -> Vector:
    """The message with the content of its leaves of these types replaced."""
    try:
        tree = read_tree(message_type(vector.api_key, vector.direction), vector.raw, vector.version)
    except NotReadError:
        return vector
    for item in tree.walk():
        if isinstance(item, Leaf) and item.type in kinds and r.random() < 0.7:
            item.value, item.wire = r.choice(values), None
            if r.random() < 0.7:
                item.value = mutated(r, item.value)
    return Vector(vector.api_key, vector.direction, vector.version, tree.write())


def _with_records(r: random.Random, vector: Vector) -> Vector:
    return _replaced(r, vector, ("records",), record_sets())


def _with_assignment(r: random.Random, vector: Vector) -> Vector:
    return _replaced(r, vector, ("bytes",), assignments())
