"""The kinds of events: the modules that declare them, each as a dataclass (dataset.tables.event_kinds.event).

The order of the modules, and of the classes in each, is the order of events that have the same time.
"""

_FOLDER = "kafkascope_analyzer.dataset.tables.event_kinds"
EVENT_MODULES = (
    f"{_FOLDER}.connections",
    f"{_FOLDER}.requests",
    f"{_FOLDER}.groups",
    f"{_FOLDER}.transactions",
    f"{_FOLDER}.services",
    f"{_FOLDER}.servers",
    f"{_FOLDER}.flow",
)
