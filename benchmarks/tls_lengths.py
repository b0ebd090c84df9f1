"""How right the exchanges of encrypted connections are: a capture is ingested without the keys of its sessions and with
them, and the two are compared.

    python -m benchmarks.tls_lengths CAPTURE KEY_LOG...

An exchange is right where the packets of the first byte of its request and of its response are those of one exchange
with keys; one that only one side has is wrong. Ends with an error where less is right than `LEAST_RIGHT`, or the
latencies differ by more than the limits.
"""

import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.read.key_logs import key_log_places

LEAST_RIGHT, P50_WITHIN, P99_WITHIN = 0.97, 0.05, 0.10
JOB_OF_API = {"Fetch": "fetch", "Produce": "produce"}
JOB_OF_API |= dict.fromkeys(("OffsetCommit", "Heartbeat", "JoinGroup", "SyncGroup", "LeaveGroup"), "coordinator")
JOB_OF_API |= dict.fromkeys(("OffsetFetch", "ConsumerGroupHeartbeat"), "coordinator")
LEAST_EXCHANGES, LEAST_JOBS = 20, 0.9
"""The job of connections with more exchanges is right for this share of them, and of none another one is claimed."""
_COLUMNS = ["conn_id", "api_key", "decoded_by", "request_packet_no", "response_packet_no", "latency_us", "status"]
_COLUMNS += ["request_bytes", "response_bytes", "api_name", "claimed_api_key"]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """n_keys, n_lengths: exchanges with keys, and by lengths; n_right: of both; n_sizes: of these with the same bytes;
    p50, p99: latencies by lengths against those with keys, as ratios; n_jobs: connections with more than
    LEAST_EXCHANGES, of which the job that was claimed is that of most exchanges with keys, or another; n_apis: right
    exchanges of which an API is claimed, and n_apis_right: the one that they have with keys."""

    n_keys: int
    n_lengths: int
    n_right: int
    n_sizes: int
    p50: float
    p99: float
    n_jobs: int = 0
    n_jobs_right: int = 0
    n_jobs_wrong: int = 0
    n_apis: int = 0
    n_apis_right: int = 0

    @property
    def right(self) -> float:
        """The share of exchanges that are right, of those with keys or by lengths, whichever are more."""
        return self.n_right / max(self.n_keys, self.n_lengths, 1)

    @property
    def holds(self) -> bool:
        """Whether the limits are kept."""
        latencies = abs(self.p50 - 1) <= P50_WITHIN and abs(self.p99 - 1) <= P99_WITHIN
        jobs = self.n_jobs_right >= LEAST_JOBS * self.n_jobs and self.n_jobs_wrong == 0
        return self.right >= LEAST_RIGHT and latencies and jobs

    def __str__(self) -> str:
        return (
            f"{self.n_keys} exchanges with keys, {self.n_lengths} by lengths, {self.n_right} right ({self.right:.2%}), "
            f"{self.n_sizes} of these with the same bytes; latency p50 {self.p50 - 1:+.1%}, p99 {self.p99 - 1:+.1%}; "
            f"jobs of {self.n_jobs_right} of {self.n_jobs} connections right, of {self.n_jobs_wrong} wrong; "
            f"APIs of {self.n_apis_right} of {self.n_apis} exchanges right"
        )


def judge(capture: Path, key_logs: tuple[Path, ...]) -> Verdict:
    """Ingests a capture twice and compares."""
    with TemporaryDirectory() as folder:
        places = []
        for name, keys in (("keys", key_logs), ("lengths", ())):
            ingest([capture], Path(folder) / name, IngestOptions(jobs=1, key_logs=key_log_places(keys)))
            places.append(Path(folder) / name)
        with_keys, without = (_rows(place) for place in places)
        verdict = compare(with_keys, without)
        jobs = compare_jobs(with_keys, _claimed_jobs(places[1]))
    return replace(verdict, n_jobs=jobs.total(), n_jobs_right=jobs["right"], n_jobs_wrong=jobs["wrong"])


def compare(with_keys: list[Row], without: list[Row]) -> Verdict:
    """Rows of `requests` of one capture."""
    keys = [row for row in with_keys if row["decoded_by"] == "tls_keys" and row["api_key"] is not None]
    connections = {row["conn_id"] for row in keys}
    lengths = [row for row in without if row["decoded_by"] == "tls_lengths" and row["conn_id"] in connections]
    right = Counter(map(_exchange, keys)) & Counter(map(_exchange, lengths))
    sizes = Counter(map(_with_sizes, keys)) & Counter(map(_with_sizes, lengths))
    apis = {_exchange(row): row["api_key"] for row in keys}
    claimed = [row for row in lengths if row["claimed_api_key"] is not None and _exchange(row) in apis]
    n_apis_right = sum(apis[_exchange(row)] == row["claimed_api_key"] for row in claimed)
    latencies = [np.array([r["latency_us"] for r in rows if r["latency_us"] is not None]) for rows in (lengths, keys)]
    p50, p99 = (
        float(np.percentile(latencies[0], q) / np.percentile(latencies[1], q)) if len(latencies[0]) else 0.0
        for q in (50, 99)
    )
    found = Verdict(len(keys), len(lengths), right.total(), sizes.total(), p50, p99)
    return replace(found, n_apis=len(claimed), n_apis_right=n_apis_right)


def compare_jobs(with_keys: list[Row], claimed: dict[str, str | None]) -> Counter[str]:
    """How many connections with more than LEAST_EXCHANGES have a job that is right, wrong or none. with_keys: rows of
    `requests`; claimed: job by conn_id."""
    apis: dict[str, Counter[str]] = defaultdict(Counter)
    for row in with_keys:
        if row["decoded_by"] == "tls_keys" and row["api_key"] is not None:
            apis[row["conn_id"]][JOB_OF_API.get(row["api_name"], "other")] += 1
    found = Counter[str]()
    for conn_id, jobs in apis.items():
        if jobs.total() > LEAST_EXCHANGES:
            job = claimed.get(conn_id)
            found["none" if job is None else "right" if job == jobs.most_common(1)[0][0] else "wrong"] += 1
    return found


def _claimed_jobs(place: Path) -> dict[str, str | None]:
    rows = pq.read_table(place / "connections", columns=["conn_id", "claimed_job"], partitioning=None).to_pylist()
    return {row["conn_id"]: row["claimed_job"] for row in rows}


def _rows(place: Path) -> list[Row]:
    return list(pq.read_table(place / "requests", columns=_COLUMNS, partitioning=None).to_pylist())


def _exchange(row: Row) -> tuple[Any, ...]:
    return row["conn_id"], row["request_packet_no"], row["response_packet_no"]


def _with_sizes(row: Row) -> tuple[Any, ...]:
    return *_exchange(row), row["request_bytes"], row["response_bytes"]


def main() -> None:
    """Judges the capture of the command line."""
    capture, *key_logs = map(Path, sys.argv[1:])
    verdict = judge(capture, tuple(key_logs))
    print(verdict)
    if not verdict.holds:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
