"""Which encrypted connections of an address are taken for one client's."""

from collections.abc import Callable

from kafkascope_spark.stories.clients.identity.by_hello import group_by_hello
from kafkascope_spark.stories.clients.identity.instances import instances_of
from kafkascope_spark.stories.model import Connection

PYTHON, JAVA, JAVA_RESUMED = (
    "t13i181000_85036bcba153_d41ae481755e",
    "t13d371200_db35923f8641_7c76daad20ec",
    "t13d371300_db35923f8641_867a32efce91",
)
Make = Callable[..., Connection]


def grouped(*connections: Connection) -> list[list[str]]:
    return [[c.conn_id for c in group.connections] for group in group_by_hello(connections)]


def encrypted(connection: Make, name: str, at: int, job: str | None, hello: str | None = PYTHON) -> Connection:
    return connection(name, at, protocol="tls", n_claimed=1, claimed_job=job, tls_ja4=hello)


def test_libraries_are_told_apart_by_their_cipher_suites(connection: Make) -> None:
    python, java = encrypted(connection, "a", 0, "fetch"), encrypted(connection, "b", 1, "fetch", JAVA)
    assert grouped(python, java) == [["a"], ["b"]]


def test_a_resumed_session_is_of_the_same_client(connection: Make) -> None:
    first, resumed = encrypted(connection, "a", 0, "fetch", JAVA), encrypted(connection, "b", 1, "fetch", JAVA_RESUMED)
    assert grouped(first, resumed) == [["a", "b"]]


def test_a_producer_and_a_consumer_are_two_and_a_coordinator_is_of_the_consumer(connection: Make) -> None:
    jobs = {"a": "produce", "b": "fetch", "c": "coordinator", "d": "produce"}
    assert grouped(*(encrypted(connection, name, n, job) for n, (name, job) in enumerate(jobs.items()))) == [
        ["a", "d"],
        ["b", "c"],
    ]


def test_a_connection_without_a_job_is_of_the_client_that_works_next(connection: Make) -> None:
    jobs = {"a": None, "b": "produce", "c": None, "d": "fetch", "e": None}
    assert grouped(*(encrypted(connection, name, n, job) for n, (name, job) in enumerate(jobs.items()))) == [
        ["a", "b"],
        ["c", "d", "e"],
    ]


def test_without_a_hello_or_a_job_there_is_one_client(connection: Make) -> None:
    assert grouped(encrypted(connection, "a", 0, None, None), encrypted(connection, "b", 1, None, None)) == [["a", "b"]]


def test_readable_connections_of_the_address_are_no_part_of_it(connection: Make) -> None:
    connections = [encrypted(connection, "a", 0, "fetch"), connection("b", 1, client_id="app", first_request_ns=5)]
    found = instances_of("10.0.0.9", connections)
    assert found["a"] is not found["b"]
    assert (found["a"].is_encrypted, found["b"].is_encrypted) == (True, False)


def test_a_failed_handshake_is_of_the_only_decrypted_client_with_such_a_hello(connection: Make) -> None:
    known = [
        connection("a", 0, client_id="app", first_request_ns=5, tls_ja4=JAVA, software_name="x"),
        connection("b", 0, client_id="job", first_request_ns=6, tls_ja4=PYTHON, software_name="y"),
    ]
    failed = [
        connection(name, 9, protocol="tls", n_claimed=0, tls_ja4=hello, first_request_ns=None, n_requests=0)
        for name, hello in (("c", JAVA_RESUMED), ("d", "t13d010100_aaaaaaaaaaaa_bbbbbbbbbbbb"))
    ]
    found = instances_of("10.0.0.9", [*known, *failed])
    assert found["c"] is found["a"]
    assert found["d"] not in (found["a"], found["b"])
    assert not any(instance.is_encrypted for instance in found.values())


def test_a_failed_handshake_that_is_like_several_decrypted_clients_is_of_none(connection: Make) -> None:
    known = [connection(name, 0, client_id=name, first_request_ns=5, tls_ja4=JAVA) for name in ("a", "b")]
    failed = connection("c", 9, protocol="tls", n_claimed=0, tls_ja4=JAVA, first_request_ns=None, n_requests=0)
    found = instances_of("10.0.0.9", [*known, failed])
    assert "c" not in found
    assert [found[name].group.n_ambiguous_attempts for name in ("a", "b")] == [1, 1]
