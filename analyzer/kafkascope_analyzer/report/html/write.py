"""Makes the HTML report of a dataset and writes it, whole or not at all."""

import os
from pathlib import Path
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.api_families import FAMILIES, family_number
from kafkascope_analyzer.report.commands import at_place
from kafkascope_analyzer.report.html.bands import bands_of
from kafkascope_analyzer.report.html.capture_texts import capture_facts, unread_texts
from kafkascope_analyzer.report.html.client_texts import add_client_texts
from kafkascope_analyzer.report.html.cluster_story import load_cluster
from kafkascope_analyzer.report.html.evidence import load_evidence, named_by, proved_by
from kafkascope_analyzer.report.html.flow_texts import flow_texts
from kafkascope_analyzer.report.html.islands import packed_columns, packed_json, shown
from kafkascope_analyzer.report.html.lanes import load_lanes
from kafkascope_analyzer.report.html.named_partitions import load_partitions
from kafkascope_analyzer.report.html.names import Names
from kafkascope_analyzer.report.html.optional_tables import load_rebalances, load_story
from kafkascope_analyzer.report.html.page import page
from kafkascope_analyzer.report.html.recovery_texts import add_step_texts
from kafkascope_analyzer.report.html.request_columns import load_requests, packed
from kafkascope_analyzer.report.html.starts_and_recoveries import brokers_of, first_client, load_episodes, load_starts
from kafkascope_analyzer.report.html.story_lists import (
    add_transaction_texts,
    findings_alone,
    groups_of,
    transactional_ids,
)
from kafkascope_analyzer.report.html.thinning import BUDGET
from kafkascope_analyzer.report.html.waits import lanes_of_brokers, load_stalls
from kafkascope_analyzer.report.words import LONGEST_PROSE, safe, visible

Model = dict[str, Any]

_AS_IN_THE_MODEL = [
    "headline",
    "incidents",
    "findings",
    "connections",
    "cluster",
    "apis",
    "errors",
    "unread",
    "stories",
    "request_rates",
    "latency",
    "leaders",
    "restarts",
]
_AS_IN_THE_MODEL += ["client_traffic", "removed_versions"]


def write_html(dataset: Dataset, model: Model, place: Path, budget: int = BUDGET) -> None:
    """Writes the report on a dataset as one HTML file.

    model: what report.model.report_model gave for it; budget: requests that the page may have. The same dataset gives
    the same bytes. Raises UsageError where a table cannot be read, OSError where the file cannot be written.
    """
    text = render_html(dataset, model, budget)
    beside = place.with_name(f".{place.name}.partial")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)


def render_html(dataset: Dataset, model: Model, budget: int = BUDGET) -> str:
    """The file's text."""
    capture = _without_folders(model["capture"])
    start_ns, end_ns = capture["start_ns"] or 0, capture["end_ns"] or 0
    lanes = load_lanes(dataset)
    conns = {row["conn_id"]: number for number, row in enumerate(lanes["connections"])}
    requests = load_requests(dataset, conns, (start_ns, end_ns), budget)
    topics = Names()
    partitions = load_partitions(dataset, conns, requests.keys, (topics, requests.errors))
    unit_ns, columns = packed(requests, start_ns, end_ns)
    n_requests = requests.n_seen + requests.n_unplaced
    story = _story(dataset, at_place(model, dataset.name), lanes)
    title = _title(capture, dataset)
    texts = {"title": title, "facts": capture_facts(model, n_requests), "unread": unread_texts(model, capture)}
    story["capture"] = {**capture, **texts, "dataset": dataset.name, "origin": str(start_ns)}
    story["lanes"] = lanes
    story["requests"] = {
        "n": n_requests,
        "n_kept": len(requests.columns["ts"]),
        "n_unplaced": requests.n_unplaced,
        "stretches": requests.stretches,
        "unit": unit_ns,
        "apis": requests.apis.listed,
        "families": [family_number(name) for name in requests.apis.listed],
        "errors": requests.errors.listed,
        "groups": requests.groups.listed,
        "transactional_ids": requests.transactional_ids.listed,
        "client_ids": requests.client_ids.listed,
        "topics": topics.listed,
    }
    brief = [visible(sentence[:LONGEST_PROSE]) for sentence in _brief(story)]
    return page(safe(title), brief, packed_json(shown(story, start_ns)), packed_columns(columns | partitions))


def _title(capture: Model, dataset: Dataset) -> str:
    """The capture's name: its file's, and where it has several, or none with a name, the dataset's."""
    names = [file["path"] for file in capture["files"]]
    return names[0] if len(names) == 1 and names[0].strip("-") else dataset.name.removesuffix(".kscope")


def _story(dataset: Dataset, model: Model, lanes: Model) -> Model:
    """What the page shows besides the requests. Adds their words to the clients of lanes."""
    start_ns, end_ns = model["capture"]["start_ns"] or 0, model["capture"]["end_ns"] or 0
    starts, episodes = load_starts(dataset, start_ns), load_episodes(dataset, start_ns)
    rebalances, transactions = load_rebalances(dataset), load_story(dataset, "transactions")
    rebalances["groups"] = groups_of(rebalances, model["rebalances"]["groups"])
    transactions |= {"ids": transactional_ids(transactions), "outcomes": model["transactions"]["outcomes"]}
    shown: Model = {"starts": starts, "episodes": episodes, "rebalances": rebalances, "transactions": transactions}
    evidence = load_evidence(dataset, [*proved_by(model), *named_by(shown)])
    add_step_texts(episodes["listed"], evidence, lanes["connections"])
    add_client_texts(lanes, starts["listed"], episodes["listed"], start_ns)
    names = {client["client_instance_id"]: client["name"] for client in lanes["clients"]}
    add_transaction_texts(transactions, names)
    still = {client["client_instance_id"]: client["stood_still"] for client in model["clients"]["listed"]}
    for client in lanes["clients"]:
        client["stood_still"] = still.get(client["client_instance_id"])
    return {
        **{name: model[name] for name in _AS_IN_THE_MODEL},
        **shown,
        "flow": flow_texts(model["flow"]),
        "findings": {**model["findings"], **findings_alone(model["findings"])},
        "bands": bands_of(starts["listed"], episodes["listed"], end_ns),
        "first_client": first_client(starts, episodes, brokers_of(dataset)),
        "families": [{"name": one.name, "title": one.title, "pattern": one.pattern} for one in FAMILIES],
        "evidence": evidence,
        "topology": load_cluster(dataset),
        "broker_lanes": lanes_of_brokers(dataset, start_ns, end_ns),
        "stalls": load_stalls(dataset),
    }


def _without_folders(capture: Model) -> Model:
    """The capture's facts; of its files' paths only the names: a report is shown to others."""
    files = [{**file, "path": Path(file["path"] or "").name} for file in capture["files"]]
    return {**capture, "files": files}


def _brief(story: Model) -> list[str]:
    """The story in a few sentences, for readers without scripts."""
    told = [story["headline"]["sentence"], *story["headline"]["details"]]
    told += [f"{row['severity']}: {row['title']}, {row['when']}" for row in story["incidents"]["listed"]]
    told += [f"{row['severity']}: {row['sentence']}" for row in story["findings"]["listed"]]
    return told[:50]
