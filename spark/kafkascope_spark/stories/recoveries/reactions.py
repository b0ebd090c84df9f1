"""The reaction that Kafka's protocol expects to an error: which requests a client should send next, by library, API and
error.

`ANY` has the reaction to every error of Kafka and to every failure without a code. Libraries and `BROKER` have the
reactions of one kind of client where they differ on an API. An error that is in none of them is surfaced to the
application. Sources: the clients' error handlers, named beside each table.
"""

from kafkascope_parsers.schema import api_name
from kafkascope_spark.stories.libraries import registry
from kafkascope_spark.stories.recoveries.reaction import Reaction, surface
from kafkascope_spark.stories.recoveries.reactions_any import ANY
from kafkascope_spark.stories.recoveries.reactions_broker import BROKER

OTHER = surface("none known: surface it")
"""The reaction to an error that is in no table: a code of a newer release of Kafka."""


def reaction_to(
    error_name: str, api_key: int | None = None, library: str = "unknown", *, transactional: bool = False
) -> Reaction:
    """The reaction that is expected of a client to an error in a response.

    api_key: API of the response; None for a failure without a response. library: its name, or `broker` for a broker
    that sends requests to another one. transactional: whether the client has a transactional id.
    """
    own = BROKER if library == "broker" else registry.library(library).reactions
    if api_key is not None:
        api = api_name(api_key)
        for name in (f"{api}/transactional", api) if transactional else (api,):
            reaction = own.get(name, {}).get(error_name)
            if reaction is not None:
                return reaction
    return ANY.get(error_name, OTHER)
