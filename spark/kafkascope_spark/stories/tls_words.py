"""Meanings of TLS alerts with which one side gives up TLS, and the advice: for the finding and the incident
tls_failed."""

from collections.abc import Collection, Mapping

from kafkascope_spark.stories.settings import setting

_NO_AUTHORITY = "its issuer is not in the truststore"
WHY = {
    "expired": "does not accept the certificate of {other} ({subject}): it expired on {until}",
    "not_yet_valid": "does not accept the certificate of {other} ({subject}): it is valid from {since} on",
    "wrong_name": "does not accept the certificate of {other} ({subject}): it is for {names}, and not for {sni}",
    "no_client_certificate": "requires a certificate of {other}, which sent none",
    "no_common_version": "does not speak the versions of TLS that {other} offers: {versions}",
    "no_common_suite": "found no cipher suite among those that {other} offers: {suites}",
    "unknown_ca": f"does not trust the certificate of {{other}}{{of_subject}}: {_NO_AUTHORITY}",
    "bad_certificate": (
        "does not accept the certificate of {other}{of_subject}: it is damaged, its signature is wrong, or it is "
        "for other names"
    ),
    "unsupported_certificate": "does not accept the kind of certificate of {other}",
    "certificate_revoked": "does not accept the certificate of {other}: it is revoked",
    "certificate_expired": "does not accept the certificate of {other}: it has expired, or is not valid yet",
    "certificate_unknown": (
        f"does not accept the certificate of {{other}}{{of_subject}}: {_NO_AUTHORITY}, or it is for other names"
    ),
    "certificate_required": "requires a certificate of {other}, which sent none",
    "handshake_failure": (
        "found no settings that both accept (cipher suites, for example), or requires a certificate of {other}"
    ),
    "insufficient_security": "wants stronger cipher suites than {other} offers",
    "protocol_version": "does not speak the versions of TLS that {other} offers",
    "unrecognized_name": "does not know the server name that {other} asks for",
    "no_application_protocol": "does not speak the application protocol that {other} asks for",
    "access_denied": "does not give access to {other} with the certificate that it has",
    "unexpected_message": "got bytes that are not TLS at this point, for example from a client without TLS",
    "encrypted": (
        "ended the handshake after it had seen the certificate of {other}; the reason is in an encrypted alert"
    ),
}
"""Reason, or alert (RFC 8446, section 6) -> its meaning, with the sender of the alert as subject."""
_IN_SHORT = {
    "expired": "does not accept the certificate of {other}: it has expired",
    "not_yet_valid": "does not accept the certificate of {other}: it is not valid yet",
    "wrong_name": "does not accept the certificate of {other}: it is for another name than the one that is asked for",
    "no_common_version": "does not speak the versions of TLS that {other} offers",
    "no_common_suite": "found no cipher suite among those that {other} offers",
}
"""Short texts for those reasons in WHY that need values of the handshake: reason -> meaning without values."""
_OTHER_CERTIFICATE = (
    "Add the authority that signed the certificate of {{other}} to those that {{sender}} trusts: {truststore}; and "
    "compare the names in the certificate with the address that is used ({name_check})."
)
_OWN_CERTIFICATE = (
    "Give {{other}} a certificate that {{sender}} accepts: {keystore}; or check whether the listener has to require "
    "one (ssl.client.auth)."
)
_AGREE = (
    "Compare versions and cipher suites of both ({tls_versions}, {tls_suites}); and check whether the listener "
    "requires a certificate of the client (ssl.client.auth): {keystore}."
)
ADVICE = {
    "expired": "Renew the certificate of {{other}} ({keystore}).",
    "not_yet_valid": "Compare the clocks of both; else give {{other}} a certificate that is valid ({keystore}).",
    "certificate_expired": "Renew the certificate of {{other}} ({keystore}), and compare the clocks of both.",
    "wrong_name": "Give {{other}} a certificate with the name {{sni}} (subjectAltName), or give {{sender}} an address "
    "that is in it ({bootstrap}; advertised.listeners of the broker).",
    "no_common_version": (
        "Configure a version that {{sender}} and {{other}} have in common: {tls_versions}; TLSv1.2 and TLSv1.3 are "
        "secure."
    ),
    "no_common_suite": (
        "Configure a cipher suite that {{sender}} and {{other}} have in common and that fits the key of the "
        "certificate: {tls_suites}."
    ),
    **dict.fromkeys(("unknown_ca", "certificate_unknown", "bad_certificate", "encrypted"), _OTHER_CERTIFICATE),
    **dict.fromkeys(("no_client_certificate", "certificate_required", "access_denied"), _OWN_CERTIFICATE),
    **dict.fromkeys(("handshake_failure", "insufficient_security", "protocol_version"), _AGREE),
    "unexpected_message": "Compare {security} of the client with that of the listener.",
}
"""Reason, or alert -> advice, with names of settings in single braces."""
_CONCEPTS = ("truststore", "keystore", "tls_versions", "tls_suites", "name_check", "bootstrap", "security")
_USUAL = ("java", "librdkafka")
"""Libraries whose settings are named if the client's library is not known, because none of its requests was read."""
_GAVE_UP = "ended the connection"


def why(reason: str, values: Mapping[str, str]) -> str:
    """Returns the meaning of an alert, with its sender as subject. values: values for the fields of WHY; the short text
    is used if those of the handshake (`until`, `names`, ...) are missing."""
    said = WHY.get(reason, _GAVE_UP)
    return (said if "until" in values else _IN_SHORT.get(reason, said)).format(**values)


def what_to_change(reason: str, libraries: Collection[str], values: Mapping[str, str]) -> str:
    """Returns the advice. libraries: libraries of the client, empty if none of its requests was read; values: values
    for the fields of ADVICE."""
    default = "Look in the logs of {{sender}} for that time: it ended the TLS handshake."
    if reason == "wrong_name" and "sni" not in values:
        reason = "certificate_unknown"  # the same advice, without the name
    names = {concept: setting(concept, libraries or _USUAL) or setting(concept, _USUAL) for concept in _CONCEPTS}
    return ADVICE.get(reason, default).format(**names).format(**values)
