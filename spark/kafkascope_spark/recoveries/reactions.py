"""What a client should do next on the wire about an error: (library, API, error) → reaction, as data.

`ANY` says it for every error that Kafka has and for ours without a code; `JAVA`, `LIBRDKAFKA` and `BROKER` say where
one kind of client does otherwise on an API. A name that is in none of them is surfaced. Sources: the clients' error
handlers, named beside each table.
"""

from kafkascope_parsers.schema import api_name
from kafkascope_spark.recoveries.reaction import Reaction, surface
from kafkascope_spark.recoveries.reactions_any import ANY
from kafkascope_spark.recoveries.reactions_broker import BROKER
from kafkascope_spark.recoveries.reactions_java import JAVA
from kafkascope_spark.recoveries.reactions_librdkafka import LIBRDKAFKA

OTHER = surface("none known: surface it")
BY_LIBRARY = {"java": JAVA, "librdkafka": LIBRDKAFKA, "broker": BROKER}
"""Library -> API (`Name`, or `Name/transactional` for a producer with a transactional id) -> error -> reaction."""


def reaction_to(
    error_name: str, api_key: int | None = None, library: str = "unknown", *, transactional: bool = False
) -> Reaction:
    """What a client made with the library should do about the error in an answer to the API (None: no answer).

    library: of startups.libraries.LIBRARIES, or `broker` for one broker that asks another.
    """
    own = BY_LIBRARY.get(library)
    if own is not None and api_key is not None:
        api = api_name(api_key)
        for name in (f"{api}/transactional", api) if transactional else (api,):
            found = own.get(name, {}).get(error_name)
            if found is not None:
                return found
    return ANY.get(error_name, OTHER)


NO_EPISODE = frozenset(name for name, reaction in ANY.items() if reaction.is_normal)
"""A first join, a rebalance, a lost fetch session, a batch that is in the log already: the protocol's normal course."""
