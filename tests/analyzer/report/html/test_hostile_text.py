"""Text of strangers changes nothing but text, whatever is in it."""

import base64
import hashlib
import html
import re

import pytest

HOSTILE = {
    "markup": '"><img src=x onerror="window.stolen=1"><script>window.stolen=1</script></script><style>*{top:0}</style>',
    "terminal": "\x1b[2J\x1b]0;owned\x07\r\n\x00",
    "bidi": "\u202e\u2066gnihton\u2069\u200b\ufeff",
    "template": "${window.stolen=1}{{1}}`\\u003cscript\\u003e<!--]]>&lt;&#60;",
    "long": "x" * 32_000,
}
ELEMENTS = "[...document.querySelectorAll('body *')].map((one) => one.tagName).join(' ')"


@pytest.mark.slow
@pytest.mark.parametrize("text", ["".join(HOSTILE.values()), HOSTILE["long"]], ids=["everything", "long"])
def test_page_has_the_same_elements(opened, small_page, text):
    plain, hostile = opened(small_page()), opened(small_page(text, "hostile"))
    for found in (plain, hostile):
        found.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        found.page.wait_for_timeout(100)
    assert hostile.page.evaluate(ELEMENTS) == plain.page.evaluate(ELEMENTS)
    assert hostile.page.evaluate("window.stolen === undefined")
    assert hostile.complaints == []
    text = hostile.page.evaluate("document.body.textContent")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u200b\u202a-\u202e\u2066-\u2069\ufeff]", text)


def test_hidden_characters_show_as_escapes(opened, small_page):
    text = opened(small_page("\u202e\x1b")).page.evaluate("document.body.textContent")
    assert r"svc\u202e\x1b" in text


def test_file_has_no_stranger_s_markup_and_no_address(small_page):
    page = small_page(HOSTILE["markup"]).read_text()
    assert "<img" not in page
    assert page.count("<script") == 3
    assert set(re.findall(r"https?://[^\s\"'`]+", page)) == {"http://www.w3.org/2000/svg"}


def test_policy_allows_the_page_s_own_style_and_script_only(small_page):
    page = small_page().read_text()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for name, tag in (("script-src", "script"), ("style-src", "style")):
        text = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[-1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
