"""Releases against the definitions in the releases' own jars."""

import gzip
import json
from pathlib import Path

import pytest

from kafkascope_parsers.schema import API_VERSION_RANGE, api_keys
from kafkascope_parsers.schema.releases import COMPARED_RELEASES, api_releases

SAVED = Path(__file__).resolve().parents[3] / "fixtures" / "schemas" / "definitions.json.gz"


KEPT = {
    r["version"].rpartition(".")[0]: r["messages"] for r in json.loads(gzip.decompress(SAVED.read_bytes()))["releases"]
}


def test_the_newest_release_that_is_kept_is_compared():
    assert max(KEPT) == COMPARED_RELEASES[-1]


@pytest.mark.parametrize("release", sorted(KEPT.keys() & set(COMPARED_RELEASES)))
def test_spoken_versions_are_those_of_the_jar(release):
    want = {m["apiKey"]: m["validVersions"] for m in KEPT[release].values() if m["type"] == "request"}
    for key, api in api_releases().items():
        spoken = api.spoken[release]
        text = "none" if spoken.low > spoken.high else "-".join(str(v) for v in sorted({spoken.low, spoken.high}))
        assert text == want.get(key, "none"), api.name


def test_every_version_that_is_decoded_has_a_release():
    assert tuple(api_releases()) == api_keys()
    for key, api in api_releases().items():
        low, high = API_VERSION_RANGE[key].tolist()
        assert list(api.first_release) == list(range(low, high + 1))
        order = [[int(part) for part in release.split(".")] for release in api.first_release.values()]
        assert order == sorted(order), api.name
        assert all(api.first_release[v] <= "4" for v in range(api.spoken["3.9"].low, api.spoken["3.9"].high + 1))


def test_what_kafka_4_removed_is_that_of_kip_896():
    removed = {api.name: api.removed_in_4_0 for api in api_releases().values() if api.removed_in_4_0}
    assert removed["Produce"] == (0, 1, 2)
    assert removed["Fetch"] == (0, 1, 2, 3)
    assert removed["OffsetCommit"] == (0, 1)
    assert removed["LeaderAndIsr"] == tuple(range(8))
    assert {"StopReplica", "UpdateMetadata", "ControlledShutdown"} <= set(removed)
    assert "Metadata" not in removed
