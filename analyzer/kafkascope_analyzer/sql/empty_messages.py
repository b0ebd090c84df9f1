"""Tables without rows for messages that a dataset lacks, so that saved SQL can name them. It compiles the message's
definition, which takes a third of a second; so it is a module of its own, imported where it is needed.
"""

from typing import Literal, cast

import pyarrow as pa

from kafkascope_analyzer.dataset.tables import MESSAGE_KEYS
from kafkascope_parsers.machine.arrow import arrow_schema
from kafkascope_parsers.schema.facts import load_index
from kafkascope_parsers.schema.messages import message_type


def empty_message(view: str) -> pa.Table:
    """Returns the table of a message, such as `Fetch_request`, without rows. Raises KeyError for a message that Kafka
    does not have."""
    api, _, direction = view.rpartition("_")
    key = next(key for key, found in load_index().items() if found.name == api)
    message = message_type(key, cast(Literal["request", "response"], direction))
    return pa.schema([*(column.field for column in MESSAGE_KEYS), *arrow_schema(message)]).empty_table()
