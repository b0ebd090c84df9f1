"""Formatters for sentences: numbers, times, durations, clients and brokers."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal

from kafkascope_analyzer.dataset.capture_time import duration_text, since_start

MOST_NAMES = 3
"""Largest number of names in a sentence; the rest is counted."""
_KIB, _MIB = 1 << 10, 1 << 20


def begin(ns: int, start_ns: int) -> str:
    """Formats a time in nanoseconds since the epoch as the time since the capture's start and the time of day:
    `00:31.020 (12:34:56.789 UTC)`. start_ns: start of the capture."""
    return f"{since_start(ns - start_ns)} ({clock(ns)})"


def clock(ns: int) -> str:
    """Formats the time of day of a time in nanoseconds since the epoch: `12:34:56.789 UTC`."""
    ms = ns // 1_000_000
    hours, minutes, seconds = ms // 3_600_000 % 24, ms // 60_000 % 60, ms // 1_000 % 60
    return f"{hours:02}:{minutes:02}:{seconds:02}.{ms % 1_000:03} UTC"


def date(ns: int) -> str:
    """Formats the day of a time in nanoseconds since the epoch: `2026-11-27`."""
    return datetime.fromtimestamp(ns // 1_000_000_000, UTC).date().isoformat()


def duration(ns: int) -> str:
    """Formats a duration in nanoseconds: `320 ms`, `15.7 s`, `12 min 5 s`."""
    return duration_text(ns // 1_000)


def ratio(part: int, whole: int) -> str:
    """Formats a quotient with one decimal place, halves rounded up: `15.7`."""
    return str((Decimal(part) / Decimal(whole)).quantize(Decimal("0.1"), ROUND_HALF_UP))


def percent(part: int, whole: int) -> str:
    """Formats a share in whole percent, halves rounded up: `67 %`."""
    return f"{(Decimal(100 * part) / Decimal(whole)).quantize(Decimal(1), ROUND_HALF_UP)} %"


def times(n: int) -> str:
    """Formats a number of times: `once`, `3 times`."""
    return "once" if n == 1 else f"{n} times"


def counted(n: int, one: str, many: str | None = None) -> str:
    """Formats a number of things: `1 client`, `3 clients`, `2 batches`."""
    return f"{n} {one}" if n == 1 else f"{n} {many or one + 's'}"


def client(client_id: str | None, client_ip: str | None) -> str:
    """Formats a client: `orders-app (10.0.0.9)`; only its address if it has no client id."""
    if client_id:
        return f"{client_id} ({client_ip})" if client_ip else client_id
    return client_ip or "A client"


def clients_with_id(client_id: str | None, n_clients: int, client_ip: str | None) -> str:
    """Formats the clients with one client id: `orders-app (3 clients)`; a single one like `client`."""
    return f"{client_id or '?'} ({n_clients} clients)" if n_clients > 1 else client(client_id, client_ip)


def node(node_id: int | None, address: str) -> str:
    """Formats a broker: `node 3 (10.0.0.3:9092)`; only its address if the node id is not known."""
    return address if node_id is None else f"node {node_id} ({address})"


def broker(node_id: int | None) -> str | None:
    """Formats a broker without its address: `broker 3`; None if the node id is not known."""
    return None if node_id is None else f"broker {node_id}"


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Formats a list of names: `a, b, c and 4 more`."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def size(n_bytes: int) -> str:
    """Formats an amount of data: `512 bytes`, `3.4 KiB`, `1.2 MiB`."""
    if n_bytes < _KIB:
        return f"{n_bytes} bytes"
    return f"{ratio(n_bytes, _KIB)} KiB" if n_bytes < _MIB else f"{ratio(n_bytes, _MIB)} MiB"


def first_sentence(text: str) -> str:
    """Returns the first sentence of a text, without its full stop."""
    return text.partition(". ")[0].removesuffix(".")


SECURED = "add --command-config CLIENT.properties where the listener takes TLS or SASL"
"""Hint after a command if the capture does not show whether the listener uses TLS or SASL."""
