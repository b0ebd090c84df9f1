"""Steps of requests, against the names that Kafka gives its APIs."""

import re
from collections.abc import Callable

from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request
from kafkascope_parsers import api_keys
from kafkascope_parsers.schema import api_name
from kafkascope_spark.stories.recoveries.request_steps import BY_ANSWER, STEP_OF_API, step_of
from kafkascope_spark.stories.recoveries.steps_table import RECOVERY_STEPS

MS = 1_000_000


def test_a_step_has_the_name_of_its_api_but_for_authentication_and_heartbeats() -> None:
    for api_key, step in STEP_OF_API.items():
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", api_name(api_key)).lower()
        if api_key in api_keys.SASL_APIS:
            assert step == "authenticate"
        elif snake.endswith("heartbeat"):
            assert step == "heartbeat"
        else:
            assert step == snake
    assert set(STEP_OF_API.values()) < set(RECOVERY_STEPS)
    assert set(STEP_OF_API.values()) > BY_ANSWER


def test_a_step_lasts_from_the_request_to_its_response(request_row: Callable[..., Request]) -> None:
    answered = step_of("metadata", request_row(api_keys.METADATA, 20, 25), 25 * MS)
    assert (answered.ts_ns, answered.duration_us, answered.request_id) == (25 * MS, 5_000, "c1-3-20")
    unanswered = step_of("error", request_row(api_keys.FETCH, 20), 90 * MS, "REQUEST_UNANSWERED", 1)
    assert (unanswered.duration_us, unanswered.error_name, unanswered.retry_key) == (None, "REQUEST_UNANSWERED", 1)
