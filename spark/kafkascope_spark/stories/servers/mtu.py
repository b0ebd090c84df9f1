"""State `mtu`: all long packets between a server and a host were lost, while shorter ones arrived. A link on the path
drops packets of that length, without a message to the sender (RFC 2923: a black hole of path MTU discovery)."""

from dataclasses import replace

from kafkascope_analyzer.dataset.tables.event_kinds.servers import PacketLoss
from kafkascope_spark.stories.servers.lossy import MOST_TRIES
from kafkascope_spark.stories.servers.moments import first_of, last_of
from kafkascope_spark.stories.servers.record import ServerRecord
from kafkascope_spark.stories.servers.silent import SCOPES
from kafkascope_spark.stories.servers.stretch import SECOND_NS, Stretch

_LEAST_BYTES = 536
"""Payload bytes that any IPv4 link forwards (packets of 576 bytes, RFC 1122)."""


def mtu_stretches(server: ServerRecord) -> list[Stretch]:
    """Returns the stretches, by host. Where long packets are lost however often they are sent again, a loss of long
    packets alone at that time has the same reason, in the other direction too: of a window of segments, each is sent
    again once when the first one has arrived."""
    of_length = [loss for loss in server.losses if _is_of_length(loss)]
    long = [loss for loss in of_length if loss.n_lost > MOST_TRIES * loss.n_segments]
    return [_stretch(server, loss) for loss in of_length if loss in long or _is_beside(loss, long)]


def with_lost_bytes(server: ServerRecord, silent: Stretch) -> Stretch:
    """Returns the silent stretch; if only long packets are known to be lost in it, with the length of the shortest: a
    link may drop packets of that length, even after a shorter one arrived, until the lost data is acknowledged."""
    if silent.state != "silent" or silent.end is None:
        return silent
    begin_ns, end_ns = silent.begin.ts_ns, silent.end.ts_ns
    of_host = (loss for loss in server.losses if loss.host == silent.host)
    losses = [loss for loss in of_host if loss.first_ns < end_ns and begin_ns < loss.last_ns]
    least = min((loss.least_bytes for loss in losses), default=0)
    of_packets = (wait for wait in server.waits_of(silent.host) if wait.layer in SCOPES)
    waits = [each for each in of_packets if each.asked.ts_ns < end_ns and begin_ns < server.end_ns(each.until)]
    if least < _LEAST_BYTES or len({wait.conn_id for wait in waits}) > sum(loss.n_connections for loss in losses):
        return silent
    acknowledged_ns = max(server.end_ns(wait.until) for wait in waits)
    lag_ns = max(silent.lag_ns, acknowledged_ns - end_ns)
    return replace(silent, lost_bytes=least, lag_ns=lag_ns)


def _is_of_length(loss: PacketLoss) -> bool:
    """Whether only packets that were longer than all that arrived were lost."""
    return loss.least_bytes >= _LEAST_BYTES and 0 < loss.arrived_bytes < loss.least_bytes


def _is_beside(loss: PacketLoss, long: list[PacketLoss]) -> bool:
    """Whether the loss overlaps one of these at the same host."""
    of_host = (each for each in long if each.host == loss.host)
    return any(each.first_ns <= loss.last_ns and loss.first_ns <= each.last_ns for each in of_host)


def _stretch(server: ServerRecord, loss: PacketLoss) -> Stretch:
    """Returns the stretch from the first retransmitted packet to the last one, which may have arrived. TCP doubles the
    time between attempts (RFC 6298, 5.5): the last but one came halfway or later, and the next would come by the same
    time later. If that is after the end of the capture, the state may not be over."""
    begin, end = first_of(loss), last_of(loss)
    stretch = Stretch(loss.host, "mtu", begin, end, True, loss.n_connections, [begin, end], lead_ns=SECOND_NS)
    stretch.last_shown_ns = begin.ts_ns + (end.ts_ns - begin.ts_ns) // 2
    lasted_ns = end.ts_ns - begin.ts_ns
    if _has_arrived(server, loss):
        return stretch
    if end.ts_ns + lasted_ns < server.capture_ns[1]:
        stretch.lag_ns = lasted_ns
    else:
        stretch.end, stretch.resumed = None, False
    return stretch


def _has_arrived(server: ServerRecord, loss: PacketLoss) -> bool:
    """Whether a wait for an acknowledgment ended at about the time of the last attempt: then some data arrived, and the
    other retransmissions follow at once."""
    waits = (wait for wait in server.waits_of(loss.host) if wait.asked.ts_ns <= loss.last_ns)
    return any(abs(server.end_ns(wait.until) - loss.last_ns) <= SECOND_NS for wait in waits if wait.ended_by == "ack")
