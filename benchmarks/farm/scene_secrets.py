"""Secrets in a scene: logins, well formed and not, and a marked secret in every field that may hold one.

Which fields may is written here once more, apart from the program's own list, as Kafka's documentation of its messages
says it. Whatever the marker is found in afterwards has leaked.
"""

import random
import struct

from benchmarks.farm.hostile_values import change
from benchmarks.farm.message_tree import Array, Item, Leaf, NotReadError, Struct, read_tree, sized
from benchmarks.farm.mutations import mutated
from benchmarks.farm.scene import Scene, Step
from benchmarks.farm.scene_messages import insert_exchange, some_talks
from benchmarks.farm.vectors import Vector, exchanges

from kafkascope_parsers.schema import message_type

MARK = b"S3cretOfTheFarm"
RECORD_MARK = b"R3cordOfTheFarm"
"""In records, which no table, report or log may have, and a piece of the capture does."""
SECRET_NAMES = {
    36: {"AuthBytes"},
    38: {"Hmac"},
    39: {"Hmac"},
    40: {"Hmac"},
    41: {"Hmac"},
    51: {"Salt", "SaltedPassword"},
    33: {"Value"},
    44: {"Value"},
    58: {"RequestData", "ResponseData", "RequestPrincipal"},
    0: {"Records"},
    1: {"Records"},
}
"""API key -> Kafka's names of fields that hold credentials, values that may be passwords, or records."""
_KEYS_OF_CREDENTIALS = frozenset(SECRET_NAMES) - {0, 1}
SENSITIVE_CONFIGS = {32: "Configs", 19: "Configs"}
"""API key -> the array whose items have IsSensitive, or a name that Kafka types as a password, and Value."""
PASSWORD_NAMES = (
    b"ssl.keystore.password",
    b"sasl.jaas.config",
    b"ssl.key.password",
    b"listener.name.x.ssl.keystore.key",
)
_STEP_NS = 100_000


def odd_logins(r: random.Random, scene: Scene) -> None:
    """SASL exchanges by Kafka's frames and as raw tokens: PLAIN, SCRAM, OAUTHBEARER, with parts missing."""
    for talk in some_talks(r, scene, lambda talk: len(talk.steps) > 3):
        mechanism = r.choice((b"PLAIN", b"PLAIN", b"SCRAM-SHA-512", b"OAUTHBEARER", b"GSSAPI", b"", b"X" * 40))
        steps = _login(r, mechanism, token(r, mechanism))
        start = talk.steps[min(2, len(talk.steps) - 1)].ts_ns
        for number, step in enumerate(steps):
            step.ts_ns = start + (number + 1) * _STEP_NS
        place = 3 if r.random() < 0.8 else r.randint(3, len(talk.steps))
        talk.steps[place:place] = steps
        talk.is_changed = True


def marked_secrets(r: random.Random, scene: Scene) -> None:
    """Messages that hold secrets, marked; some of them with other fields changed, cut, or blindly mutated after it."""
    for talk in some_talks(r, scene):
        for _ in range(r.choice((1, 2, 4))):
            key = r.choice([*SECRET_NAMES, *SENSITIVE_CONFIGS])
            asks, answers = exchanges()[key]
            ask = r.choice(asks)
            same = [vector for vector in answers if vector.version == ask.version] or list(answers)
            insert_exchange(r, talk, marked(r, ask), marked(r, r.choice(same)))


def marked(r: random.Random, vector: Vector) -> Vector:
    """The message with the marker in its secret fields, and sometimes odd otherwise."""
    try:
        tree = read_tree(message_type(vector.api_key, vector.direction), vector.raw, vector.version)
    except NotReadError:
        return vector
    if r.random() < 0.3:
        change(r, tree)
    for item in list(tree.walk()):
        _mark(r, vector.api_key, item)
    raw = tree.write()
    if r.random() < 0.2:
        raw = mutated(r, raw)
    return Vector(vector.api_key, vector.direction, vector.version, raw)


def _mark(r: random.Random, key: int, item: Item) -> None:
    mark = MARK if key in _KEYS_OF_CREDENTIALS else RECORD_MARK
    if isinstance(item, Leaf) and item.path.rpartition(".")[2] in SECRET_NAMES.get(key, ()):
        item.value, item.wire = r.choice((b"", b"\0", b"x" * 20)) + mark + r.choice((b"", b"\0", b"=")), None
    if isinstance(item, Struct) and key in SECRET_NAMES and item.tags is not None and r.random() < 0.3:
        item.tags = [*item.tags, (8888, b"\x20" + mark)]
    is_configs = isinstance(item, Array) and item.path.rpartition(".")[2] == SENSITIVE_CONFIGS.get(key)
    if isinstance(item, Array) and is_configs:
        for each in item.items or ():
            if isinstance(each, Struct):
                _mark_config(r, each)


def _mark_config(r: random.Random, config: Struct) -> None:
    """Makes a configuration value sensitive: by the flag, where there is one, or by its name."""
    members = {leaf.path.rpartition(".")[2]: leaf for leaf in config.members or () if isinstance(leaf, Leaf)}
    if "IsSensitive" in members and r.random() < 0.6:
        members["IsSensitive"].value = b"\1"
    elif "Name" in members:
        members["Name"].value, members["Name"].wire = r.choice(PASSWORD_NAMES), None
    if "Value" in members:
        members["Value"].value, members["Value"].wire = MARK + b"-value", None
    for below in config.members or ():
        if isinstance(below, Array):
            for each in below.items or ():
                for leaf in each.members or () if isinstance(each, Struct) else ():
                    if isinstance(leaf, Leaf) and leaf.path.endswith(".Value"):
                        leaf.value, leaf.wire = MARK + b"-synonym", None


def token(r: random.Random, mechanism: bytes) -> bytes:
    """What a client sends first: well formed, or with a part missing, twice, or in a wrong place."""
    if mechanism == b"PLAIN":
        return r.choice(
            (
                b"\0alice\0" + MARK,
                b"alice\0" + MARK + b"\0",
                b"\0" + MARK + b"\0",
                b"\0" + MARK,
                MARK,
                b"alice\0alice\0" + MARK,
                b"\0alice\0" + MARK + b"\0",
                b"\0\0" + MARK,
                MARK + b"\0\0",
                b"\0alice\0\0" + MARK,
                b"alice:" + MARK,
                b"\0\xff\xfe\0" + MARK,
            )
        )
    if mechanism == b"OAUTHBEARER":
        return r.choice((b"n,,\x01auth=Bearer " + MARK + b"\x01\x01", b"n,a=" + MARK + b",\x01auth=\x01", MARK))
    return r.choice((b"n,,n=alice,r=" + MARK, b"n,a=bob,n=alice,r=" + MARK, b"c=biws,r=x,p=" + MARK, MARK, b""))


def _login(r: random.Random, mechanism: bytes, secret: bytes) -> list[Step]:
    number = r.randrange(1000)
    handshake_version, framed = r.choice(((0, False), (1, True), (1, True), (0, True)))
    ask = struct.pack(">hhi", 17, handshake_version, number) + _string(b"app") + _string(mechanism)
    error = r.choice((0, 0, 0, 33, 58))
    answer = struct.pack(">ihi", number, error, 1) + _string(mechanism)
    steps = [Step(0, 0, sized(ask)), Step(0, 1, sized(answer))]
    if r.random() < 0.2:
        steps = []  # the capture begins behind the handshake
    for _ in range(r.choice((1, 1, 2))):
        number += 1
        if not framed:
            steps += [Step(0, 0, sized(secret)), Step(0, 1, sized(r.choice((b"", MARK, b"v=" + MARK))))]
            continue
        request = struct.pack(">hhi", 36, r.choice((0, 1)), number) + _string(b"app") + _sized_bytes(r, secret)
        message = r.choice((None, b"Authentication failed", b"Invalid token " + MARK if r.random() < 0.1 else b"no"))
        reply = struct.pack(">ih", number, r.choice((0, 0, 58, 33, -1))) + _string(message) + sized(MARK)
        steps += [
            Step(0, 0, sized(request)),
            Step(0, 1, sized(reply + r.choice((b"", bytes(8), b"\x7f" + b"\xff" * 7)))),
        ]
    if r.random() < 0.2:
        which = r.choice(steps)
        which.raw = mutated(r, which.raw)
    return steps


def _sized_bytes(r: random.Random, raw: bytes) -> bytes:
    lie = r.choice((0, 0, 0, 0, 1, -1, 1000))
    return struct.pack(">i", max(-1, len(raw) + lie)) + raw


def _string(text: bytes | None) -> bytes:
    return struct.pack(">h", -1) if text is None else struct.pack(">h", len(text)) + text
