"""Notes about TLS handshakes: the columns of `connections` that begin with `tls_`, each with its text."""

from collections.abc import Iterator

from kafkascope_analyzer.dataset.tables.connections import LIST_SEPARATOR
from kafkascope_parsers.exchanges import TlsCertificates
from kafkascope_parsers.tls.certificates import read_certificate
from kafkascope_parsers.tls.client_libraries import tls_library
from kafkascope_parsers.tls.handshake import HandshakeFacts
from kafkascope_parsers.tls.hello import Hello, text, version_name
from kafkascope_parsers.tls.ja4 import ja4
from kafkascope_parsers.tls.suite_names import GREASE, group_name, suite_name

_LISTED_LIMIT = 512
"""Most members of a list that are kept: a client offers some twenty cipher suites; there are less than 400."""
NO_CERTIFICATE, CERTIFICATE, NOT_ASKED = "missing", "sent", "not_asked"
_SIDES = ("client", "server")


def handshake_notes(facts: HandshakeFacts) -> dict[str, str]:
    """Returns the facts of a handshake by column, without missing ones."""
    client, server = facts.client, facts.server
    found = _of_client(client) if client is not None else {}
    found |= _of_server(server) if server is not None else {}
    found |= _times(facts)
    for name, chain in (("client", facts.client_certificates), ("server", facts.server_certificates)):
        found |= _of_certificate(name, chain or ())
    found |= {
        "tls_group": group_name(facts.group) if facts.group is not None else None,
        "tls_resumed": _flag(facts.is_resumed),
        "tls_retried": _flag(facts.is_retried) if server is not None else None,
        "tls_client_certificate": _client_certificate(facts),
        "tls_hidden_alert": _SIDES[facts.hidden_alert] if facts.hidden_alert is not None else None,
    }
    return {name: shown for name, shown in found.items() if shown is not None}


def certificate_notes(sent: TlsCertificates) -> dict[str, str]:
    """Returns the facts in the certificates of a decrypted handshake, by column."""
    found = _of_certificate(_SIDES[not sent.is_client], sent.chain)
    if sent.is_client:
        found["tls_client_certificate"] = CERTIFICATE if sent.chain else NO_CERTIFICATE
    return {name: shown for name, shown in found.items() if shown is not None}


def _of_client(hello: Hello) -> dict[str, str | None]:
    versions = hello.versions or (hello.legacy_version,)
    return {
        "tls_sni": hello.sni,
        "tls_versions_offered": _listed(version_name(number) for number in versions),
        "tls_suites_offered": _listed(suite_name(number) for number in hello.suites if number not in GREASE),
        "tls_alpns_offered": _listed(text(name) for name in hello.alpns),
        "tls_ja4": ja4(hello) if hello.is_whole else None,
        "tls_claimed_library": tls_library(hello.suites) if hello.is_whole else None,
    }


def _of_server(hello: Hello) -> dict[str, str | None]:
    return {
        "tls_version": hello.version,
        "tls_alpn": hello.alpn,
        "tls_suite": suite_name(hello.suite) if hello.suite is not None else None,
        "tls_server_extensions": _listed(str(number) for number in hello.extensions),
    }


def _times(facts: HandshakeFacts) -> dict[str, str | None]:
    """Returns the duration of the handshake, and of its parts."""
    return {
        "tls_handshake_us": _apart_us(facts.begun_ns, facts.ended_ns),
        "tls_server_us": _apart_us(facts.asked_ns, facts.answered_ns),
        "tls_client_us": _apart_us(facts.server_done_ns, facts.client_goes_on_ns),
    }


def _client_certificate(facts: HandshakeFacts) -> str | None:
    """Returns whether the client sent a certificate; None where the handshake does not show it in clear."""
    if facts.client_certificates is not None:
        return CERTIFICATE if facts.client_certificates else NO_CERTIFICATE
    return NOT_ASKED if facts.server_certificates and not facts.asks_client else None


def _of_certificate(side: str, chain: tuple[bytes, ...]) -> dict[str, str | None]:
    """Returns the facts in the first certificate of a list, which is its sender's."""
    facts = read_certificate(chain[0]) if chain else None
    if facts is None:
        return {}
    return {
        f"tls_{side}_subject": facts.subject,
        f"tls_{side}_names": _listed(facts.names),
        f"tls_{side}_issuer": facts.issuer,
        f"tls_{side}_not_before_ns": _number(facts.not_before_ns),
        f"tls_{side}_not_after_ns": _number(facts.not_after_ns),
        f"tls_{side}_key_type": facts.key_type,
        f"tls_{side}_key_bits": _number(facts.key_bits),
    }


def _listed(names: "Iterator[str | None] | tuple[str, ...]") -> str | None:
    """Returns a list as one text; None where it is empty."""
    return LIST_SEPARATOR.join([name for name in names if name][:_LISTED_LIMIT]) or None


def _number(value: int | None) -> str | None:
    return str(value) if value is not None else None


def _flag(value: bool | None) -> str | None:
    return str(int(value)) if value is not None else None


def _apart_us(begin_ns: int | None, end_ns: int | None) -> str | None:
    if begin_ns is None or end_ns is None:
        return None
    return str(max(end_ns - begin_ns, 0) // 1000)
