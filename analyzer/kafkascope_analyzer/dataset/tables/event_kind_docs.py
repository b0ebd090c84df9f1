"""One sentence for each kind of `events`: what a row of the kind is. The structs are declared in events.py,
group_events.py and transaction_events.py, which also explain the fields."""

from collections.abc import Mapping

KIND_DOCS: Mapping[str, str] = {
    "connection": (
        "the connection: its ends, how it began and ended, what the client said about itself; near_idle_ms: the "
        "shortest idle time among the connections that the same server closed within half a second; refused_after: "
        "how many connections the server refused in the five seconds after"
    ),
    "usage": (
        "requests of one kind on the connection: how many (n), the first of them, when the last was sent, and sums, "
        "least and largest values over all of them"
    ),
    "samples": (
        "times and correlation ids of some requests; of_answers: of responses whose requests the capture lacks"
    ),
    "learned": "what the connection's messages say about brokers, producer ids and group timeouts",
    "loop": "percentiles of the time between rounds of a loop (cadence), in milliseconds; of in_flight: requests",
    "silence": (
        "an unusually long time in which the client sent no payload on the connection, although the server had "
        "responded to all its requests, and a heartbeat of the client or of another one at its address was overdue; "
        "with its packets around that time (first_*, last_*), and the requests before and after"
    ),
    "lookup": "a DNS question and its answer; it belongs to no connection",
    "request": (
        "a request that decides a story by itself (control plane, failed, slow, unanswered, needed by a start), or "
        "the first success after a failure of the same call; of an error run with n above 1, the first of its "
        "requests"
    ),
    "error_run": (
        "an error code in the response to one request (n is 1), or in the responses to n requests in a row that "
        "failed alike; request_id and last_request_id are the first and the last of them, waited_us adds up their "
        "latencies"
    ),
    "partition": (
        "a topic-partition that a message names without an error, after an error on it; hints: the response names "
        "the new leader (KIP-951); unanswered: the request had no response"
    ),
    "group_request": (
        "a request that forms or changes a group, looks for its coordinator, or was refused by it; with the bodies "
        "of request and response, and the end of its connection"
    ),
    "group_member": (
        "requests without an error by which a member kept its place in one generation: the first of them, when the "
        "last was sent (last_ns), and how many (n)"
    ),
    "group_lag": (
        "the last offset that a generation committed for a topic-partition, and the highest high watermark that "
        "responses to Fetch had reported by the end of that second"
    ),
    "transaction_request": (
        "InitProducerId, AddPartitionsToTxn (up to version 3), AddOffsetsToTxn, TxnOffsetCommit or EndTxn of a "
        "client, with its response; protocol: v1 or v2 (KIP-890)"
    ),
    "transaction_markers": (
        "WriteTxnMarkers of a coordinator for one producer id, with the partitions that have the marker"
    ),
    "transaction_seen": (
        "AddPartitionsToTxn (from version 4) of a partition leader, which asks the coordinator about a producer "
        "whose batch it has received"
    ),
    "transaction_written": (
        "the Produce requests of one connection between two bounds (InitProducerId, EndTxn or markers): batches "
        "and records that were sent (sent_*) and accepted (kept_*), and the first offset of each partition"
    ),
    "transaction_blocked_by_lso": (
        "a read_committed consumer behind a last stable offset that did not move: the first and the last response "
        "that show it; the key is empty where the transaction is not in the capture"
    ),
    "produce_wait": (
        "batches of one producer for one topic-partition that waited half a second or more, or were not accepted: n "
        "requests in a row with the same outcome; created_ns: when their first record was created, on the capture's "
        "clock; longest_ns: how long the batch waited that waited longest"
    ),
    "fetch_run": (
        "responses to Fetch or ShareFetch that brought later and later records of one topic-partition, with less than "
        "half a second between them; next_accepted_ns: when the first record that they did not bring had been "
        "accepted; last_answer_accepted_ns: the same of the first record of the last response (last_answer_offset), "
        "which the "
        "consumer may have dropped"
    ),
    "server_host": (
        "a host that talked to the server: what runs there, when the server's first packet (packet_no) and last packet "
        "came to it, and whether payload was among them (served); is_client: the process of the server opened "
        "connections too"
    ),
    "server_connection": (
        "a connection that the server ended or did not accept, or the first that it accepted afterwards (close_kind): "
        "its first packet, its SYN-ACK (accepted) and what ended it (last); idle_ms: since the last payload; served: "
        "the server had sent payload on it"
    ),
    "server_wait": (
        "time in which a host waited for the server: for any packet (layer packet), for bytes of the application "
        "(payload), or for a response (request); or in which the server waited for the host to acknowledge what it "
        "sent (delivery); first and last packet that asked; is_proof: the server could have answered at once by "
        "itself; is_slow: the response took ten times as long as usual"
    ),
    "life_sign": (
        "packets of the server without a pause of a second, around a time in which somebody waited for it: to one "
        "host, to all hosts (scope server), from all ports of its process (listeners), or all that the process sends "
        "(process); from_host: packets of the host to the server"
    ),
    "produce_slice": (
        "records of one topic-partition that brokers accepted on the connection in one slice of time: how many, their "
        "latencies from creation to the response, the end of the partition"
    ),
    "fetch_slice": (
        "records of one topic-partition that a consumer fetched on the connection in one slice of time: how many that "
        "its group did not have yet, their latencies from the response that accepted them, the lag"
    ),
    "commit_slice": (
        "the offset of one topic-partition that was committed last for a group on the connection in one slice of time, "
        "of the commits that the coordinator accepted"
    ),
}
