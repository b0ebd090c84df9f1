"""The file: the same bytes each time, whole or not there, with all of its sources."""

import pytest

from kafkascope_analyzer.report.html import page


@pytest.mark.slow
def test_same_dataset_same_bytes(leader_move, real_page, tmp_path, write_page):
    again = tmp_path / "again.html"
    write_page(leader_move, again)
    assert again.read_bytes() == real_page.read_bytes()


def test_says_nothing_of_folders(leader_move, real_page):
    assert str(leader_move.parent) not in real_page.read_text()


def test_every_style_is_in_the_page():
    from importlib import resources

    names = {one.name for one in resources.files("kafkascope_analyzer.report.html").iterdir()}
    assert {name for name in names if name.endswith(".css")} == set(page.STYLES)


def test_sources_cannot_end_their_element():
    assert "</" not in page._joined((page.SCRIPT,))
    assert "</" not in page._joined(page.STYLES)


def test_readers_without_scripts_get_the_story(real_page):
    text = real_page.read_text()
    brief = text[text.index("<noscript>") : text.index("</noscript>")]
    times = "00:12.677 to 00:21.713 (04:28:47.254 to 04:28:56.290 UTC, 9.04 s)"
    assert f"warning: broker down: node 3 (10.77.0.13:9092), {times}" in brief


@pytest.mark.slow
def test_nothing_is_left_where_it_cannot_be_written(leader_move, tmp_path, write_page):
    place = tmp_path / "taken.html"
    place.mkdir()
    with pytest.raises(OSError, match=r"taken\.html"):
        write_page(leader_move, place)
    assert [one.name for one in tmp_path.iterdir()] == ["taken.html"]


@pytest.mark.parametrize("stories", [True, False])
def test_datasets_without_later_stories_or_any_are_told_so(tmp_path, small, stories, write_page):
    dataset = small.write_dataset(tmp_path / "old.kscope", stories=stories)
    write_page(dataset, tmp_path / "old.html")
    assert (tmp_path / "old.html").stat().st_size > 50_000
