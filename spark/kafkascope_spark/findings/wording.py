"""The words of sentences, as text of Spark SQL expressions: a rule's sentence is one expression, and one call to the
JVM. Arguments are expressions too: a column's name, or more."""

MOST_NAMES = 3
"""Names that a sentence gives; then it counts the rest."""


def clock(ns: str) -> str:
    """A time of day: `12:34:56.789 UTC`."""
    return f"concat(date_format(timestamp_millis({ns} div 1000000), 'HH:mm:ss.SSS'), ' UTC')"


def lasting(ns: str) -> str:
    """A duration in nanoseconds: `320 ms`, `15.7 s`, `12 min`."""
    return (
        f"case when {ns} < 1000000000 then concat({ns} div 1000000, ' ms') "
        f"when {ns} < 120000000000 then concat(round({ns} / 1000000000, 1), ' s') "
        f"else concat({ns} div 60000000000, ' min') end"
    )


def times(n: str) -> str:
    """A count: `once`, `3 times`."""
    return f"if({n} = 1, 'once', concat({n}, ' times'))"


def counted(n: str, one: str, many: str | None = None) -> str:
    """A number of things: `1 client`, `3 clients`."""
    return f"concat({n}, if({n} = 1, ' {one}', ' {many or one + 's'}'))"


def called(client_id: str = "client_id", client_ip: str = "client_ip") -> str:
    """A client: `orders-app (10.0.0.9)`; its address alone where it gives no id."""
    return f"if(coalesce({client_id}, '') = '', {client_ip}, concat({client_id}, ' (', {client_ip}, ')'))"


def node(node_id: str, address: str) -> str:
    """A broker: `node 3 (10.0.0.3:9092)`; its address alone where the node is not known."""
    return f"if({node_id} is null, {address}, concat('node ', {node_id}, ' (', {address}, ')'))"


def listed(names: str, most: int = MOST_NAMES) -> str:
    """A list of strings: `a, b, c and 4 more`."""
    return (
        f"concat(array_join(slice({names}, 1, {most}), ', '), "
        f"if(size({names}) > {most}, concat(' and ', size({names}) - {most}, ' more'), ''))"
    )


def evidence(request_id: str = "request_id", at_ns: str = "ts_ns", most: int = 100) -> str:
    """An aggregate: the first request ids in order of time, each once."""
    order = f"if({request_id} is null, null, struct({at_ns}, {request_id}))"
    return f"array_distinct(min_by({request_id}, {order}, {most}))"


def connections_of(ids: str) -> str:
    """The conn_ids of a list of request ids and conn_ids: a request id is its connection's and a number."""
    return f"array_distinct(transform({ids}, id -> substring_index(id, '-', 1)))"


def size(n_bytes: str) -> str:
    """An amount of data: `512 bytes`, `3.4 KiB`, `1.2 MiB`."""
    return (
        f"case when {n_bytes} < 1024 then concat({n_bytes}, ' bytes') "
        f"when {n_bytes} < 1048576 then concat(round({n_bytes} / 1024, 1), ' KiB') "
        f"else concat(round({n_bytes} / 1048576, 1), ' MiB') end"
    )
