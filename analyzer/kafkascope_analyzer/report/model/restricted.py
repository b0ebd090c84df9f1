"""The restriction of a report in words, and the totals that it leaves out because of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.restriction import Restriction
from kafkascope_analyzer.report.formatting import list_of, safe
from kafkascope_analyzer.report.model.moments import at_text

if TYPE_CHECKING:
    from kafkascope_analyzer.report.model.incidents.model import Headline

MOST_NAMED = 5
"""Most names of a kind in the sentence."""
_WHOLE = "The files, their times and their packets are those of the whole capture."
_WHOLE_CONNECTIONS = (
    "Bytes of streams, and requests and errors by connection, broker and client are left out: they are known of whole "
    "connections."
)
_WHOLE_CLIENTS = "Requests and errors by client are left out: they are known of whole clients."
_WHOLE_REQUESTS = "Bytes and records of a request are all of it, also where it names other topics."


@dataclass(frozen=True, slots=True)
class Restricted:
    """The restriction of a report. Several values of one kind mean any of them; several kinds mean all of them."""

    clients: Annotated[tuple[str, ...], "client ids or client_instance_ids"]
    nodes: Annotated[tuple[int, ...], "node ids"]
    groups: Annotated[tuple[str, ...], "groups"]
    topics: Annotated[tuple[str, ...], "topics"]
    from_ns: Annotated[int | None, "events that were over before this time are left out; null where no time was given"]
    to_ns: Annotated[int | None, "events that began after this time are left out; null where no time was given"]
    text: Annotated[str, "the restriction in words"]
    left_out: Annotated[
        tuple[str, ...], "sentences about totals that are left out, and totals that cover more than the restriction"
    ]


def restricted_to(dataset: Dataset, start_ns: int) -> Restricted | None:
    """Returns the restriction of the dataset; None where it has none. start_ns: the capture's start."""
    wanted = dataset.restriction
    if wanted is None:
        return None
    return Restricted(
        clients=wanted.clients,
        nodes=wanted.nodes,
        groups=wanted.groups,
        topics=wanted.topics,
        from_ns=wanted.from_ns,
        to_ns=wanted.to_ns,
        text=_text(wanted, start_ns),
        left_out=tuple(_left_out(wanted)),
    )


def with_restriction(headline: "Headline", restricted: Restricted | None) -> "Headline":
    """Returns the headline with the restriction first, and the totals that are left out last."""
    if restricted is None:
        return headline
    sentence = f"Restricted to {restricted.text}. {headline.sentence}".rstrip()
    return replace(headline, sentence=sentence, details=(*headline.details, *restricted.left_out))


def _left_out(wanted: Restriction) -> Iterator[str]:
    yield _WHOLE
    if wanted.divides_connections:
        yield _WHOLE_CONNECTIONS
    elif wanted.divides_clients:
        yield _WHOLE_CLIENTS
    if wanted.topics:
        yield _WHOLE_REQUESTS


def _text(wanted: Restriction, start_ns: int) -> str:
    """Returns the restriction in words: `client order-api-2 and nodes 1, 3, from 00:10.000 (04:28:44.577 UTC)`."""
    kinds = (("client", wanted.clients), ("group", wanted.groups), ("topic", wanted.topics), ("node", wanted.nodes))
    named = " and ".join(_named(kind, names) for kind, names in kinds if names)
    times = (("from", wanted.from_ns), ("to", wanted.to_ns))
    when = " ".join(f"{word} {at_text(ns, start_ns)}" for word, ns in times if ns is not None)
    return ", ".join(part for part in (named, when) if part)


def _named(kind: str, names: Sequence[str | int]) -> str:
    return f"{kind}{'s' if len(names) > 1 else ''} {list_of([safe(name) for name in names], MOST_NAMED)}"
