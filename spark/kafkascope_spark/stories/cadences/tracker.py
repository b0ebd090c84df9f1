"""The cadences of one client instance: those that Spark measured on its connections, and two of the control plane that
are measured here, as they use all connections (metadata refresh) or are rare (re-authentication)."""

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter

from kafkascope_analyzer.dataset.tables.event_kinds.connections import LoopStatistics
from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request
from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED, Uncovered
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.cadences.expectations import MIN_IDLE_MS
from kafkascope_spark.stories.cadences.table import Cadence
from kafkascope_spark.stories.cadences.verdicts import ClientSettings, verdict_of
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.clients.table import READING_KINDS

MAX_VALUES = 10_000
"""Largest number of different gaps that are kept for one loop; further gaps are counted as the longest one."""
_MS = 1_000_000


class Gaps:
    """Counts of the gaps between rounds of a loop, by length in milliseconds. Gaps that contain a time without a
    capture file are not counted, as rounds may be missing."""

    def __init__(self, uncovered: Uncovered = NOTHING_UNCOVERED) -> None:
        self._uncovered = uncovered
        self._counts: Counter[int] = Counter()
        self._last_ns: int | None = None

    def at(self, ts_ns: int) -> None:
        """Adds a round of the loop."""
        if self._last_ns is not None and self._uncovered.first_in(self._last_ns, ts_ns) is None:
            self._count(max(0, ts_ns - self._last_ns) // _MS, 1)
        self._last_ns = ts_ns

    def repeated(self, first_ns: int, last_ns: int, n: int) -> None:
        """Adds n rounds of the loop at regular intervals, as of a run of errors."""
        self.at(first_ns)
        if n > 1 and self._last_ns is not None:
            self._count(max(0, last_ns - first_ns) // (n - 1) // _MS, n - 1)
            self._last_ns = last_ns

    def _count(self, gap: int, n: int) -> None:
        known = gap in self._counts or len(self._counts) < MAX_VALUES
        self._counts[gap if known else max(self._counts)] += n

    def measured(self, conn_id: str, cadence: str) -> LoopStatistics | None:
        """Returns the statistics; None for fewer than two rounds."""
        n = self._counts.total()
        if not n:
            return None
        return LoopStatistics(cadence, n, self._part(n, 50), self._part(n, 99), max(self._counts), conn_id=conn_id)

    def _part(self, n: int, percent: int) -> int:
        """Returns the percentile of the n counted gaps."""
        need = -(-n * percent // 100)
        seen = 0
        for value in sorted(self._counts):
            seen += self._counts[value]
            if seen >= need:
                break
        return value


class Cadences:
    """Takes the client's requests in order of time; finish returns the rows. uncovered: times that no file covers."""

    def __init__(self, instance: Instance, uncovered: Uncovered = NOTHING_UNCOVERED) -> None:
        self._instance = instance
        self._uncovered = uncovered
        self._metadata = Gaps(uncovered)
        self._authentications: dict[str, Gaps] = {}

    def on_request(self, request: Request) -> None:
        """Handles a request of the control plane."""
        if request.api_key == api_keys.METADATA:
            self._metadata.at(request.ts_ns)
        elif request.api_key == api_keys.SASL_HANDSHAKE:
            self._authentications.setdefault(request.conn_id, Gaps(self._uncovered)).at(request.ts_ns)

    def on_repeated(self, first: Request, n: int, last_sent_ns: int) -> None:
        """Handles n requests like the first, sent at regular intervals."""
        if first.api_key == api_keys.METADATA:
            self._metadata.repeated(first.ts_ns, last_sent_ns, n)

    def finish(self) -> list[Cadence]:
        """Returns the rows of `cadences`, by connection in order of time; none for connections between brokers."""
        if self._instance.kind.kind == "broker":
            return []
        settings = self._settings()
        found: list[LoopStatistics | None] = [self._metadata.measured("", "metadata_refresh")]
        for connection in self._instance.connections:
            found.extend(sorted(connection.cadences, key=attrgetter("cadence")))
            if connection.conn_id in self._authentications:
                found.append(self._authentications[connection.conn_id].measured(connection.conn_id, "reauthentication"))
            idle = connection.idle_ms if connection.close_ns is not None else None
            if idle is not None and idle >= MIN_IDLE_MS:
                found.append(LoopStatistics("idle_before_close", 1, idle, idle, idle, conn_id=connection.conn_id))
        return [self._row(m, settings) for m in found if m is not None and self._concerns(m)]

    def _concerns(self, measured: LoopStatistics) -> bool:
        """Whether a measured loop applies to the client: fetch loops apply only to clients that read."""
        return measured.cadence not in ("fetch", "poll_gap") or self._instance.kind.kind in READING_KINDS

    def _settings(self) -> ClientSettings:
        connections = self._instance.connections
        return ClientSettings(
            library=self._instance.library,
            session_timeout_ms=_most(c.session_timeout_ms for c in connections),
            rebalance_timeout_ms=_most(c.rebalance_timeout_ms for c in connections),
            heartbeat_interval_ms=_most(c.heartbeat_interval_ms for c in connections),
            max_wait_ms=_most(c.max_wait_ms for c in connections),
            session_lifetime_ms=_most(c.session_lifetime_ms for c in connections),
            lived_ms=(max(c.last_ns for c in connections) - min(c.first_ns for c in connections)) // _MS,
        )

    def _row(self, measured: LoopStatistics, settings: ClientSettings) -> Cadence:
        verdict = verdict_of(measured, settings)
        return Cadence(
            client_instance_id=self._instance.instance_id,
            conn_id=measured.conn_id or None,
            cadence=measured.cadence,
            n=measured.n,
            p50_ms=measured.p50,
            p99_ms=measured.p99,
            max_ms=measured.max,
            expected_ms=verdict.expected_ms,
            expected_from=verdict.expected_from,
            verdict=verdict.verdict,
        )


def _most(values: Iterable[int | None]) -> int | None:
    return max((v for v in values if v is not None), default=None)
