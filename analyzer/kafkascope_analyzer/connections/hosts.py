"""Resolves host names to addresses: by DNS answers in the capture, else by the name resolution blocks of a pcapng file,
else by a hosts file of the user, else by the server names (SNI) of TLS clients.

Hosts syntax (hosts(5)): an address, then names, `#` begins a comment. Names are compared without case and trailing dot.
A short advertised name may have been looked up with a search domain after it (resolv.conf(5)): that counts where only
one such name was answered.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kafkascope_parsers.errors import UsageError

Entry = tuple[str, str]
"""Name and address."""
Times = tuple[int, int]
"""Times at which DNS first and last answered with an address."""
BY_DNS, BY_FILE, BY_HOSTS = "DNS", "the names in the capture file", "the hosts file"
BY_SERVER_NAME = "the server name in TLS hellos"


def read_hosts(path: Path) -> tuple[Entry, ...]:
    """Returns the entries of a hosts file. Raises UsageError with file and line where it cannot be read or
    is not one."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as a hosts file: {error}") from error
    return tuple(_entries(path, text))


def _entries(path: Path, text: str) -> Iterator[Entry]:
    for number, whole in enumerate(text.splitlines(), 1):
        words = whole.partition("#")[0].split()
        if not words:
            continue
        try:
            address = str(ipaddress.ip_address(words[0].partition("%")[0]))
        except ValueError as error:
            raise UsageError(f"{path}:{number}: {words[0]!r} is no IP address: write `address name...`") from error
        if len(words) == 1:
            raise UsageError(f"{path}:{number}: no name behind the address {words[0]}: write `address name...`")
        yield from ((_plain(name), address) for name in words[1:])


class HostNames:
    """Addresses by host name. hosts: entries of the hosts file; recorded: entries of name resolution blocks (pcapng,
    section 4.5), which the capturing program wrote from its own look-ups."""

    def __init__(self, hosts: Iterable[Entry] = (), recorded: Iterable[Entry] = ()) -> None:
        self._answers: dict[str, dict[str, Times]] = {}
        self._asked: dict[str, set[str]] = {}
        self._kept = ((_by_name(recorded), BY_FILE), (_by_name(hosts), BY_HOSTS), (self._asked, BY_SERVER_NAME))

    def note_answer(self, name: str, addresses: Iterable[str], ts_ns: int) -> None:
        """Adds a DNS answer with addresses, and its time."""
        known = self._answers.setdefault(_plain(name), {})
        for address in addresses:
            first_ns, last_ns = known.get(address, (ts_ns, ts_ns))
            known[address] = min(first_ns, ts_ns), max(last_ns, ts_ns)

    def note_server_name(self, name: str, address: str) -> None:
        """Adds the server name (SNI) that a TLS client sent to an address."""
        self._asked.setdefault(_plain(name), set()).add(address)

    def addresses(self, host: str) -> tuple[frozenset[str], str | None]:
        """Returns (addresses of the host, what resolved them); a literal address resolves itself (None)."""
        try:
            return frozenset([str(ipaddress.ip_address(host.partition("%")[0]))]), None
        except ValueError:
            name = _plain(host)
        found = self.answered(name)
        if found:
            return frozenset(found), BY_DNS
        for kept, by in self._kept:
            if name in kept:
                return frozenset(kept[name]), by
        return frozenset(), None

    def answered(self, host: str) -> Mapping[str, Times]:
        """Returns the addresses with which DNS answered for the host, and when."""
        name = _plain(host)
        return self._answers.get(name) or self._longer(name)

    def _longer(self, name: str) -> Mapping[str, Times]:
        """Returns the addresses of the one answered name that is this one followed by a domain."""
        longer = [answered for answered in self._answers if answered.startswith(name + ".")] if name else []
        return self._answers[longer[0]] if len(longer) == 1 else {}


def _by_name(entries: Iterable[Entry]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, address in entries:
        found.setdefault(_plain(name), set()).add(address)
    return found


def _plain(name: str) -> str:
    return name.rstrip(".").lower()
