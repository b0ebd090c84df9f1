"""A KRaft controller that is no broker did not respond, though its connections did not end: it was silent or frozen.

Looks at the same as controller_down, which ended; and could be confused with the same.
"""

from kafkascope_spark.stories.incidents.failure import Kind
from kafkascope_spark.stories.incidents.kinds.controller_down import controller_advice, controller_sentence
from kafkascope_spark.stories.incidents.kinds.texts import BY_STATES

CONTROLLER_UNRESPONSIVE = Kind(
    "controller_unresponsive",
    "controller unresponsive",
    plural="controllers unresponsive",
    sentence=controller_sentence,
    advice=controller_advice,
    known=BY_STATES,
    place="broker",
    of_broker=True,
)
