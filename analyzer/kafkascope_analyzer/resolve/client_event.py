"""Key and order of events whose key is the client's address."""

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.event_source import Column, EventPlace


def client_place(
    client_ip: Column,
    conn_id: Column,
    ts_ns: Column,
    packet_no: Column | None = None,
    seq: Column | None = None,
) -> EventPlace:
    """Returns the place of events whose key is the client's address."""
    address = flat(client_ip).fill_null("")
    return EventPlace(address, address, conn_id, ts_ns, packet_no, seq)
