"""What an encrypted client seems to run, from connections by hand."""

import pytest

from kafkascope_parsers.tls.client_libraries import TLS_LIBRARIES
from kafkascope_spark.stories.libraries.claimed import claimed_software
from kafkascope_spark.stories.libraries.registry import LIBRARIES


@pytest.mark.parametrize(
    ("tls_library", "software"),
    [
        ("jvm", "a JVM (Java)"),
        ("openssl", "OpenSSL (librdkafka)"),
        ("go", "Go (franz-go or sarama or kafka-go)"),
        ("rustls", "rustls"),
        (None, None),
    ],
)
def test_the_libraries_that_use_the_tls_library_are_named(connection, tls_library, software):
    found = claimed_software([connection("a", 0, n_claimed=5, claimed_first_bytes=60, tls_claimed_library=tls_library)])
    assert (None if found is None else found.software) == software


def test_a_library_whose_first_request_would_be_longer_is_left_out(connection):
    """ApiVersions of franz-go takes 26 bytes and the client id; sarama and kafka-go need not begin with it."""
    found = claimed_software([connection("a", 0, n_claimed=5, claimed_first_bytes=9, tls_claimed_library="go")])
    assert found.software == "Go (sarama or kafka-go)"
    assert "9 bytes, too few for ApiVersions of franz-go" in found.why


def test_connections_that_do_not_agree_show_nothing(connection):
    mine = [connection(name, 0, n_claimed=5, tls_claimed_library=name) for name in ("go", "jvm")]
    assert claimed_software(mine) is None


def test_connections_that_were_decrypted_are_not_claimed(connection):
    assert claimed_software([connection("a", 0, tls_claimed_library="go")]) is None


def test_every_library_says_which_tls_library_it_uses():
    assert all(each.tls_library in TLS_LIBRARIES for each in LIBRARIES)
