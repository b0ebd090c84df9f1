"""The reference page of the kinds, as a reader of Markdown sees it."""

from kafkascope_spark.stories.incidents.kinds import KINDS
from kafkascope_spark.stories.incidents.kinds.broker_down import BROKER_DOWN
from kafkascope_spark.stories.incidents.kinds.unexplained import UNEXPLAINED
from kafkascope_spark.stories.incidents.pages import kind_paragraphs, kind_parts, kinds_page


def test_each_kind_has_a_section_with_its_words() -> None:
    page = kinds_page([BROKER_DOWN, UNEXPLAINED])
    assert page.count("\n## ") == 2
    assert f"\n## broker_down\n\n*{BROKER_DOWN.words}*\n" in page
    assert page.index("## broker_down") < page.index("## unexplained")


def test_a_part_that_a_kind_does_not_have_is_left_out() -> None:
    assert [title.split(" (")[0] for title, _ in kind_parts(BROKER_DOWN)] == [
        "Shown by",
        "States of a broker",
        "Place",
    ]
    titles = {title for title, _ in kind_parts(UNEXPLAINED)}
    assert ("Place" in titles) == (UNEXPLAINED.place is not None)
    assert not any(title.startswith("Errors that show it") for title in titles)


def test_states_and_errors_are_sorted() -> None:
    for kind in KINDS:
        for title, text in kind_parts(kind):
            if title.startswith(("Errors", "States")):
                assert text.split(", ") == sorted(text.split(", "))


def test_paragraphs_have_no_line_breaks_and_names_keep_their_underscores() -> None:
    assert all("\n" not in paragraph for kind in KINDS for paragraph in kind_paragraphs(kind))
    errors = next(kind for kind in KINDS if kind.errors)
    name = sorted(errors.errors)[0]
    assert name.replace("_", "\\_") in kinds_page([errors])
