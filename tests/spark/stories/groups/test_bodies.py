"""The classes of bodies against the structs of their events."""

from typing import Any

import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.row_types import arrow_type
from kafkascope_analyzer.dataset.tables.group_events import GROUP_REQUEST_BODY, GROUP_RESPONSE_BODY
from kafkascope_spark.stories.groups.bodies import GroupRequestBody, GroupResponseBody


@pytest.mark.parametrize(
    ("body", "struct"), [(GroupRequestBody, GROUP_REQUEST_BODY), (GroupResponseBody, GROUP_RESPONSE_BODY)]
)
def test_bodies_have_the_fields_of_their_events(body: type[Any], struct: pa.StructType) -> None:
    assert arrow_type(body) == struct
