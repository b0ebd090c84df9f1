"""The page: one HTML file with its style, its code and its data, and a policy that forbids it everything else.

The policy names the hashes of the one style and the one script and forbids everything else: the page sends no request,
and text from the wire that got into it as markup would not run. Style and code are the files beside this module.
"""

import base64
import hashlib
import html
from collections.abc import Mapping
from importlib import resources

STYLES = ("page.css", "timeline.css", "pictures.css", "print.css")
SCRIPT = "page.js"
"""The bundle of the modules under script/, made by `make page`."""
_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>
<h1>{title}</h1>
<p>This page draws itself with a script, which is switched off here. In short:</p>
<ul>{brief}</ul>
</noscript>
{islands}
<script>{script}</script>
</body>
</html>
"""


def page(title: str, brief: list[str], islands: Mapping[str, str]) -> str:
    """Returns the whole file. title and the sentences of brief may hold any text. islands: base64 data by the id of the
    element that holds it: `data-story` and `data-columns` of a report, or `data-comparison`."""
    style, script = _joined(STYLES), _joined((SCRIPT,))
    items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in brief)
    return _TEMPLATE.format(
        policy=_policy(style, script),
        title=html.escape(title),
        style=style,
        brief=items,
        islands="\n".join(f'<script type="text/plain" id="{name}">{data}</script>' for name, data in islands.items()),
        script=script,
    )


def _joined(names: tuple[str, ...]) -> str:
    folder = resources.files(__package__)
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def _policy(style: str, script: str) -> str:
    directives = {"default-src": "'none'", "script-src": _hash(script), "style-src": _hash(style)}
    directives |= {"img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
