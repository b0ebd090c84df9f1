"""Alerts: the reasons why a side ended a connection. Source: IANA's registry of TLS alerts."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.tcp.streams import Streams
from kafkascope_parsers.tls.plain_text import Alert

CLOSE_NOTIFY, USER_CANCELED, NO_RENEGOTIATION = 0, 90, 100
NOT_FATAL = frozenset({CLOSE_NOTIFY, USER_CANCELED, NO_RENEGOTIATION})
"""Alerts that are no errors."""
_RECORD_BYTES = 7
NAMES = {
    10: "unexpected_message",
    20: "bad_record_mac",
    22: "record_overflow",
    40: "handshake_failure",
    42: "bad_certificate",
    43: "unsupported_certificate",
    44: "certificate_revoked",
    45: "certificate_expired",
    46: "certificate_unknown",
    47: "illegal_parameter",
    48: "unknown_ca",
    49: "access_denied",
    50: "decode_error",
    51: "decrypt_error",
    70: "protocol_version",
    71: "insufficient_security",
    80: "internal_error",
    86: "inappropriate_fallback",
    109: "missing_extension",
    110: "unsupported_extension",
    112: "unrecognized_name",
    113: "bad_certificate_status_response",
    115: "unknown_psk_identity",
    116: "certificate_required",
    120: "no_application_protocol",
}


def alert_name(description: int) -> str:
    """The name of an alert, or its number."""
    return NAMES.get(description, f"alert_{description}")


def plain_alerts(streams: Streams, runs: NDArray[np.int64]) -> Iterator[Alert]:
    """The unencrypted alerts in some runs: packets that begin with such a record, or consist of one."""
    data, start = streams.data, streams.piece_start
    whole = np.flatnonzero(start + _RECORD_BYTES <= len(data))
    at = start[whole]
    is_alert = (data[at] == 21) & (data[at + 1] == 3) & (data[at + 3] == 0) & (data[at + 4] == 2)
    at = at[is_alert & (data[at + 5] >= 1) & (data[at + 5] <= 2)]
    run = np.searchsorted(streams.start, at, side="right") - 1
    chosen = np.isin(run, runs) & (at + _RECORD_BYTES <= streams.end[run])
    for place, of in zip(at[chosen].tolist(), run[chosen].tolist(), strict=True):
        yield Alert(int(streams.direction[of]), int(data[place + 6]))
