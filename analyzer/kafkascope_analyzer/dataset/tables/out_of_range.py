"""Numbers in Kafka's messages that are outside of the range of their field."""

from kafkascope_analyzer.dataset.contract import Table, i16, i64, text, time
from kafkascope_analyzer.dataset.tables.columns import CAPTURE, CONN, PACKET, REQUEST

OUT_OF_RANGE = Table(
    "out_of_range",
    "field of a message with invalid values, which are null in all tables but `messages`",
    (
        REQUEST,
        CONN,
        *time("", "first byte of the frame"),
        CAPTURE,
        PACKET,
        i16("api_key", "API key"),
        text("api_name", "API name"),
        text("direction", "frame that has the field", "request", "response"),
        text("field", "path of the field, such as responses[].partitions[].high_watermark"),
        text("kind", "kind of the field, such as offset"),
        text("allowed", "smallest and greatest valid value, such as -2..9007199254740992"),
        i64("n", "number of values outside of that range"),
        text("least", "smallest of these values"),
        text("greatest", "greatest of these values"),
    ),
)
