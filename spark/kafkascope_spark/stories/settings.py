"""Names and defaults of the settings of client libraries, by the purpose of the setting, for texts.

Advice to a client uses the names of its own library. If the library is not known, it uses the name in the Java client,
and says so.
"""

from collections.abc import Collection

from kafkascope_spark.stories.libraries import registry
from kafkascope_spark.stories.libraries.java import JAVA


def setting(concept: str, libraries: Collection[str] = (), *, defaults: bool = False) -> str | None:
    """Returns the name of a setting in these libraries: `sessionTimeout (kafkajs)`; for several libraries:
    `session.timeout.ms (Java), sessionTimeout (kafkajs)`. For Java clients alone it is the name without brackets; if no
    library is known, it is Java's name with `(Java name)`. None if these libraries have no such setting.

    defaults: whether to add the default values.
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
    """Returns the names of several settings, joined by `and`; None if these libraries have none of them."""
    found = [name for c in concepts if (name := setting(c, libraries, defaults=defaults)) is not None]
    return " and ".join(dict.fromkeys(found)) or None


def _java_alone(name: str, default: str | None) -> str:
    return name if default is None else f"{name} (default {default})"


def _in_brackets(words: list[str], default: str | None) -> str:
    return ", ".join(words if default is None else [*words, f"default {default}"])
