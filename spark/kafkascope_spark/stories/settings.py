"""Settings of client libraries in texts, by what they do: the name that each library gives a setting, and its default.

A client is advised in the words of its own library. Where the library is unknown, the Java client's name stands, and
the text says so.
"""

from collections.abc import Collection

from kafkascope_spark.stories.libraries import registry
from kafkascope_spark.stories.libraries.java import JAVA


def setting(concept: str, libraries: Collection[str] = (), *, defaults: bool = False) -> str | None:
    """The name of the setting for clients of these libraries: `sessionTimeout (kafkajs)`; of several libraries each:
    `session.timeout.ms (Java), sessionTimeout (kafkajs)`. Java's name alone stands for Java clients, and is marked
    `(Java name)` where no library is known. None: these libraries have no such setting.

    defaults: whether the default values are named too.
    """
    java = JAVA.settings[concept]
    known = [library for library in registry.LIBRARIES if library.name in libraries]
    if not known:
        return f"{java.name} ({_in_brackets(['Java name'], java.default if defaults else None)})"
    users: dict[str, dict[str | None, list[str]]] = {}
    for library in known:
        own = library.settings.get(concept)
        if own is not None:
            default = own.default if defaults else None
            users.setdefault(own.name, {}).setdefault(default, []).append(library.shown)
    if known == [JAVA]:
        return next((_java_alone(name, default) for name, same in users.items() for default in same), None)
    listed = (
        f"{name} ({'; '.join(_in_brackets(who, default) for default, who in same.items())})"
        for name, same in users.items()
    )
    return ", ".join(listed) or None


def settings(concepts: Collection[str], libraries: Collection[str] = (), *, defaults: bool = False) -> str | None:
    """Several settings, joined by `and`; None: these libraries have none of them."""
    found = [name for c in concepts if (name := setting(c, libraries, defaults=defaults)) is not None]
    return " and ".join(dict.fromkeys(found)) or None


def _java_alone(name: str, default: str | None) -> str:
    return name if default is None else f"{name} (default {default})"


def _in_brackets(words: list[str], default: str | None) -> str:
    return ", ".join(words if default is None else [*words, f"default {default}"])
