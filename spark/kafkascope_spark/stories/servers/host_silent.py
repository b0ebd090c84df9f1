"""State `host_silent`: a host sent nothing to any server, although the server retransmitted data that the host did not
acknowledge. The host, or its path to all servers, failed, and not the server."""

from kafkascope_spark.stories.servers.moments import first_of, last_of, moment_of
from kafkascope_spark.stories.servers.record import ServerRecord
from kafkascope_spark.stories.servers.stretch import Stretch


def host_silent_stretches(server: ServerRecord) -> list[Stretch]:
    """Returns the stretches, by host: from its last packet to any server to its first one afterwards."""
    found = []
    for silence in server.absent:
        begin = moment_of(silence.before_ns, silence.before_packet_no)
        end = None if silence.until_ns is None else moment_of(silence.until_ns, silence.until_packet_no)
        moments = [first_of(silence), last_of(silence)]
        found.append(Stretch(silence.host, "host_silent", begin, end, True, silence.n_connections, moments))
    return found
