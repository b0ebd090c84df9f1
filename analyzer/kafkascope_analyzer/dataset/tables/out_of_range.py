"""Numbers in Kafka's messages that are outside of the range of their field."""

from kafkascope_analyzer.dataset.contract import Table, i16, i64, text, time
from kafkascope_analyzer.dataset.tables.columns import CAPTURE, CONN, PACKET, REQUEST

OUT_OF_RANGE = Table(
    "out_of_range",
    "field of a message with values that it cannot have: they are null in all tables but `messages`",
    (
        REQUEST,
        CONN,
        *time("", "first byte of the frame"),
        CAPTURE,
        PACKET,
        i16("api_key", "API key"),
        text("api_name", "API name"),
        text("direction", "which frame has it", "request", "response"),
        text("field", "path of the field, as in responses[].partitions[].high_watermark"),
        text("kind", "what the field is, as in offset"),
        text("allowed", "least and greatest value that it may have, as in -2..9007199254740992"),
        i64("n", "values outside of that"),
        text("least", "the least of them"),
        text("greatest", "the greatest of them"),
    ),
)
