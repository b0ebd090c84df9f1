"""The catalogue of APIs, against Kafka's message definitions and against what those definitions say of listeners."""

import pytest

from kafkascope_analyzer.dataset.tables import ROLES
from kafkascope_parsers import api_keys as constants
from kafkascope_parsers.schema import api_catalogue, api_keys, api_name, apis_for_role, keys_of_families
from kafkascope_parsers.schema.catalogue import FAMILIES
from kafkascope_parsers.schema.releases import api_releases


def test_a_release_that_brings_an_api_needs_a_line_in_the_catalogue():
    assert {key: api.name for key, api in api_catalogue().items()} == {key: api_name(key) for key in api_keys()}


def test_every_api_but_those_of_the_connection_itself_is_sent_to_a_role():
    without = {api.name for api in api_catalogue().values() if not api.roles}
    assert without == {"ApiVersions", "SaslHandshake", "SaslAuthenticate"}
    assert {role for api in api_catalogue().values() for role in api.roles} == {*ROLES} - {"follower_fetch"}


def test_families_share_out_the_apis():
    assert sorted(key for family in FAMILIES for key in keys_of_families({family})) == sorted(api_keys())


def test_what_only_controllers_offer_is_sent_by_brokers():
    """The listeners are Kafka's own fact: a client reaches an API that is offered on a broker's listener."""
    only_controllers = {key for key, api in api_releases().items() if set(api.listeners) == {"controller"}}
    assert only_controllers
    assert {api_catalogue()[key].sender for key in only_controllers} == {"broker"}
    only_zookeeper = {key for key, api in api_releases().items() if "zkBroker" in api.listeners}
    assert all("inter_broker" in api_catalogue()[key].roles for key in only_zookeeper)


KEYS = [name for name, key in vars(constants).items() if isinstance(key, int) and not name.startswith("FIRST_")]


@pytest.mark.parametrize("name", KEYS)
def test_each_constant_has_the_key_of_its_api(name):
    assert api_name(getattr(constants, name)).lower() == name.replace("_", "").lower()


def test_roles_are_asked_by_name():
    assert apis_for_role("telemetry") == {"GetTelemetrySubscriptions": 0, "PushTelemetry": 0}
    assert apis_for_role("nobody") == {}


def test_offsets_in_zookeeper_are_no_matter_of_a_coordinator():
    """KafkaApis of 0.8.2 to 3.9: version 0 of both APIs reads and writes ZooKeeper."""
    later = {name: since for name, since in apis_for_role("group_coordinator").items() if since}
    assert later == {"OffsetCommit": 1, "OffsetFetch": 1}
