"""Stalls of an encrypted consumer that seems to have fetched late: all its connections were silent at the same time
without an open request, although it otherwise fetches again as soon as it has a response, and it fetched again
afterwards.

Its topic-partitions are not known, nor whether records were available in that time.
"""

from collections.abc import Iterator

from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.incidents.signals.quiet_client import late_fetches
from kafkascope_spark.stories.stalls.clients import owner_of
from kafkascope_spark.stories.stalls.stall import StallLimits, Subject, Wait, stalls_of
from kafkascope_spark.stories.stalls.table import Stall


def unasked_stalls(instance: Instance, limits: StallLimits) -> list[Stall]:
    """Returns the stalls, without incident_id."""
    subject = Subject("consume", owner_of(instance.instance_id, None), claimed=True)
    return stalls_of(subject, _waits(instance), {instance.instance_id: instance}, limits)


def _waits(instance: Instance) -> Iterator[Wait]:
    for late in late_fetches(instance):
        from_ns = late.answered_ns + late.usual_ms * 1_000_000
        if late.to_ns > from_ns:
            ends = ((late.answered_ns, late.request_id), (late.to_ns, late.next_request_id))
            requests = tuple((ns, request_id) for ns, request_id in ends if request_id is not None)
            unasked_ns = late.to_ns - from_ns
            yield Wait(
                from_ns, late.to_ns, instance.instance_id, late.node_id, requests=requests, unasked_ns=unasked_ns
            )
