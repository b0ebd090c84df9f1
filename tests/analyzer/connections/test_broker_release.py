"""Releases of brokers by what they offer. What 3.9, 4.0 and 4.4 answer stands in columns of its own in the table, made
from their jars; captures of 4.3.1 and 2.8.2 are what brokers really offered.
"""

from pathlib import Path

import pyarrow.dataset as ds
import pytest

from kafkascope_parsers.broker_release import (
    KRAFT_MODE,
    ZOOKEEPER_MODE,
    BrokerRelease,
    parse_offer,
    release_of,
)
from kafkascope_parsers.schema.releases import COMPARED_RELEASES, api_releases, releases
from kafkascope_parsers.versions import ApiVersionRange

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"


def answer_of(release, listener):
    """What the brokers of a release answer on a listener."""
    found = {}
    for key, api in api_releases().items():
        spoken = api.spoken[release]
        if listener in api.listeners and spoken.low <= spoken.high:
            found[key] = ApiVersionRange(spoken.low, spoken.high)
    return found


@pytest.mark.parametrize("release", COMPARED_RELEASES)
def test_the_answer_of_a_release_is_known_again(release):
    assert release_of(answer_of(release, "broker")) == BrokerRelease((release,), KRAFT_MODE)


def test_a_broker_with_zookeeper_offers_what_its_controller_sends():
    offer = answer_of("3.9", "broker") | answer_of("3.9", "zkBroker")
    assert release_of(offer) == BrokerRelease(("3.9",), ZOOKEEPER_MODE)


def test_apis_that_an_older_controller_takes_down_do_not_mislead():
    offer = answer_of("4.0", "broker")
    forwarded = [key for key, api in api_releases().items() if api.listeners == ("broker", "controller")]
    offer |= {key: answer_of("3.9", "broker")[key] for key in forwarded if key in answer_of("3.9", "broker")}
    assert release_of(offer).releases == ("4.0",)


def test_what_fits_no_release_is_unknown():
    odd = {key: ApiVersionRange(0, own.high if key % 2 else 0) for key, own in answer_of("4.0", "broker").items()}
    assert release_of(odd).releases == ()
    assert release_of({}) == BrokerRelease((), None)


def test_releases_stand_in_order():
    assert releases()[:2] == ("0.8.0", "0.8.1")
    assert releases().index("0.10.0") == releases().index("0.9.0") + 1
    assert releases()[-1] == "4.4"


def test_text():
    assert BrokerRelease(("3.3", "3.4"), None).text == "3.3 or 3.4"
    assert BrokerRelease(("3.3", "3.4", "3.5"), None).text == "3.3 to 3.5"
    assert BrokerRelease((), None).text == "unknown"


@pytest.mark.parametrize(
    ("piece", "release"),
    [("pieces/dns_names.pcap.zst", ("4.3",)), ("pieces/zk_transactions.pcap.zst", ("2.8",))],
)
def test_brokers_of_recorded_captures(piece, release, ingested):
    rows = ds.dataset(ingested(CAPTURES / piece) / "connections", format="parquet").to_table().to_pylist()
    offers = [row["api_versions_offered"] for row in rows if row["api_versions_offered"]]
    assert offers
    of_brokers = [found for offer in offers if len(found := parse_offer(offer)) > 40]
    assert {release_of(offer).releases for offer in of_brokers} == {release}
    assert {release_of(offer).mode for offer in of_brokers} == {KRAFT_MODE if release == ("4.3",) else ZOOKEEPER_MODE}
