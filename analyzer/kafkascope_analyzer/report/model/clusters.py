"""A dataset of several clusters: the clusters, the client hosts that talk to more than one of them, and a report of
each.

Topics, groups, transactional ids and node numbers of two clusters may have the same names, so no section of a report
may mix them: each report is about one cluster (Dataset.of_cluster).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.kept_tables import KeptTables, kept
from kafkascope_analyzer.dataset.manifest import REPORT_FILE
from kafkascope_analyzer.dataset.near_names import did_you_mean
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.tables import CLUSTERS
from kafkascope_analyzer.report.formatting import safe
from kafkascope_analyzer.report.model.failed_sections import FailedPartRow
from kafkascope_analyzer.report.model.report import Report, report_model
from kafkascope_analyzer.report.plain import to_json
from kafkascope_analyzer.report.rows import read
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.tables import CLIENTS

MOST_NAMED = 5
"""Most clusters that a sentence names, and most client ids of an address."""
KNOWN_BY = {
    "cluster_id": "cluster id in its messages",
    "addresses": "messages name its addresses together",
    "nothing": "no message names these addresses",
}
"""Words for each way in which a cluster was identified."""
_MIRRORS = ("mirrormaker", "mirror-maker", "mirrorsource", "mirrorcheckpoint", "mirrorheartbeat", "->", "mm2")
_CONNECT = ("connector-consumer", "connector-producer", "connect-")
"""Parts of lower-case client ids of Kafka Connect: MirrorMaker 2 names its clients after connectors and
`source->target`."""


@dataclass(frozen=True, slots=True)
class ClusterRow(Row):
    """A row of the table clusters."""

    TABLE: ClassVar[Table] = CLUSTERS
    cluster: str
    cluster_id: str | None
    known_by: str
    servers: tuple[str, ...]
    n_clients: int
    n_connections: int


@dataclass(frozen=True, slots=True)
class _ClientRow(Row):
    TABLE: ClassVar[Table] = CLIENTS
    cluster: str
    client_ip: str
    client_id: str | None
    kind: str | None


@dataclass(frozen=True, slots=True)
class ClusterOverview:
    """A cluster with the headline of its report."""

    cluster: Annotated[str, "name of the cluster in all tables: its id, or an address"]
    known_by: Annotated[str, "why its addresses belong together, in words"]
    servers: Annotated[tuple[str, ...], "addresses and ports of its servers, sorted"]
    n_clients: Annotated[int, "addresses of clients"]
    n_connections: Annotated[int, "connections"]
    verdict: Annotated[str, "the worst of its incidents, stalls, failed starts and findings"]
    n_incidents: Annotated[int, "incidents"]
    n_findings: Annotated[int, "findings"]
    sentence: Annotated[str, "what failed"]


@dataclass(frozen=True, slots=True)
class SharedClient:
    """A client address whose clients talk to several clusters."""

    client_ip: Annotated[str, "address"]
    clusters: Annotated[tuple[str, ...], "the clusters, by name"]
    client_ids: Annotated[tuple[str, ...], "client ids, sorted"]
    what: Annotated[
        str, "kind of the client: MirrorMaker, Kafka Connect, one client id in several clusters, or several clients"
    ]


@dataclass(frozen=True, slots=True)
class ClusterReports:
    """The clusters of a dataset, their shared clients, and a report of each."""

    clusters: Annotated[tuple[ClusterOverview, ...], "the clusters, by name"]
    shared_clients: Annotated[tuple[SharedClient, ...], "addresses whose clients talk to several clusters"]
    reports: Annotated[tuple[Report, ...], "the report of each cluster, in the same order"]

    @property
    def failed_parts(self) -> tuple[FailedPartRow, ...]:
        """Parts of the analysis that failed, of all clusters."""
        return tuple(part for report in self.reports for part in report.failed_parts)


def report_of(dataset: Dataset) -> Report | ClusterReports:
    """Returns the report of a dataset; for several clusters, the reports of all. Raises UsageError where a table cannot
    be read."""
    dataset = kept(dataset)
    if not has_several(dataset):
        return report_model(dataset)
    rows = sorted(read(dataset, ClusterRow), key=lambda row: row.cluster)
    reports = tuple(report_model(dataset.of_cluster(row.cluster)) for row in rows)
    overviews = tuple(_overview(row, report) for row, report in zip(rows, reports, strict=True))
    return ClusterReports(overviews, tuple(_shared_clients(dataset)), reports)


def has_several(dataset: Dataset) -> bool:
    """Whether rows of several clusters are read from the dataset."""
    return dataset.cluster is None and len(dataset.clusters) > 1


def each_report(model: Report | ClusterReports) -> tuple[Report, ...]:
    """Returns the report as a tuple, or the reports of all clusters."""
    return model.reports if isinstance(model, ClusterReports) else (model,)


def cluster_named(dataset: Dataset, name: str) -> str:
    """Returns the cluster of that name, of that cluster id, or with a server at that address (`ip:port` or `ip`).
    Raises UsageError where there is none, or several clusters have a server there."""
    rows = sorted(read(dataset, ClusterRow), key=lambda row: row.cluster)
    found = [row.cluster for row in rows if name in (row.cluster, row.cluster_id)]
    found = found or [row.cluster for row in rows if name in _addresses(row)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"--cluster {name}: several clusters have a server there: {listed(found)}; give one of them")
    known = [row.cluster for row in rows]
    near = did_you_mean(name, known)
    raise UsageError(f"--cluster {name}: {dataset} has no such cluster{near}; it has {listed(known)}")


def _addresses(row: ClusterRow) -> set[str]:
    return {*row.servers, *(server.rpartition(":")[0].strip("[]") for server in row.servers)}


def listed(names: Sequence[str]) -> str:
    """Returns the first names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return (", ".join(map(safe, names[:MOST_NAMED])) or "none") + more


def _overview(row: ClusterRow, report: Report) -> ClusterOverview:
    return ClusterOverview(
        cluster=row.cluster,
        known_by=KNOWN_BY[row.known_by],
        servers=row.servers,
        n_clients=row.n_clients,
        n_connections=row.n_connections,
        verdict=report.headline.verdict,
        n_incidents=report.incidents.n,
        n_findings=report.findings.n,
        sentence=report.headline.sentence,
    )


def _shared_clients(dataset: Dataset) -> Iterator[SharedClient]:
    clusters: dict[str, set[str]] = defaultdict(set)
    of_names: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in read(dataset, _ClientRow):
        if row.kind != "broker":
            clusters[row.client_ip].add(row.cluster)
            if row.client_id:
                of_names[row.client_ip][row.client_id].add(row.cluster)
    for client_ip in sorted(clusters):
        if len(clusters[client_ip]) > 1:
            names = tuple(sorted(of_names[client_ip]))
            astray = [name for name in names if len(of_names[client_ip][name]) > 1]
            yield SharedClient(client_ip, tuple(sorted(clusters[client_ip])), names, _what(names, astray))


def _what(client_ids: Sequence[str], astray: Sequence[str]) -> str:
    """Returns the kind of the clients of one address, in words. astray: the client ids that several clusters know."""
    small = [name.lower() for name in client_ids]
    if any(part in name for name in small for part in _MIRRORS):
        return "MirrorMaker, which copies records from one cluster to another"
    if any(part in name for name in small for part in _CONNECT):
        return "Kafka Connect, between clusters"
    if astray:
        which = ", ".join(map(safe, astray[:MOST_NAMED]))
        return (
            f"{which} uses several clusters under one client id: an address in its bootstrap.servers, or one that it "
            "still knows, may belong to another cluster by now; what it misses there is not to be created"
        )
    return "clients of several clusters on one host"


def write_report(dataset: Dataset, model: Report | ClusterReports) -> None:
    """Writes the model as report.json beside the tables, whole or not at all, and what the next report can use. Raises
    UsageError."""
    dataset.write_beside(REPORT_FILE, to_json(model).encode())
    if isinstance(dataset, KeptTables):
        for name, content in dataset.for_next_run.items():
            dataset.write_beside(name, content)
