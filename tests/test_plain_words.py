"""What users read says what an engineer would: stalled, served again, restarted, unreachable."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOT_SAID = re.compile(r"st(?:oo|an)ds? still|of no account|what they owe", re.IGNORECASE)
READ = {
    "documentation": ["README.md", "CHANGELOG.md", "docs"],
    "texts of incidents and findings": ["spark/kafkascope_spark/stories"],
    "reports": ["analyzer/kafkascope_analyzer/report", "analyzer/kafkascope_analyzer/dataset/tables"],
}
"""docs/ has the pages of all kinds, rules and tables, and docs/advice.md all advice."""


@pytest.mark.parametrize("what", READ)
def test_plain_words_alone(what: str) -> None:
    places = [ROOT / place for place in READ[what]]
    files = [file for place in places for file in (place.rglob("*") if place.is_dir() else [place])]
    own = [file for file in files if "node_modules" not in file.parts]
    read = [file for file in own if file.suffix in (".md", ".py", ".ts")]
    assert read
    said = {file: NOT_SAID.findall(file.read_text(encoding="utf-8")) for file in read}
    assert {str(file.relative_to(ROOT)): words for file, words in said.items() if words} == {}
