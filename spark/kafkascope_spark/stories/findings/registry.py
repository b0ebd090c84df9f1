"""All rules by name: the `RULE` of each module of `rules`."""

from importlib import import_module
from pkgutil import iter_modules

from kafkascope_spark.stories.findings import rules
from kafkascope_spark.stories.findings.rule import Rule

_NAMES = sorted(module.name for module in iter_modules(rules.__path__))
RULES: tuple[Rule, ...] = tuple(import_module(f"{rules.__name__}.{name}").RULE for name in _NAMES)
