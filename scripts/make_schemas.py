#!/usr/bin/env python3
"""Make the schema facts in parsers/kafkascope_parsers/schema/facts from the message definitions inside kafka-clients
jars.

    make_schemas.py                                      download the newest 4.3.x, 4.x and 3.9.x from Maven Central
    make_schemas.py --jar A.jar --jar B.jar [--slf4j J]  use local jars in this order
    make_schemas.py --saved                              use the definitions kept in fixtures/schemas
    make_schemas.py --check                              write nothing; exit 1 if files would change

It prints the changes to the existing files: APIs, versions, fields. The definitions from the jars are also kept in
fixtures/schemas/definitions.json.gz, without comments and prose, so that a test can make the facts again.

Facts only: names, types, version ranges, tags, entity types; no prose. Of a message version that several jars know,
the first jar's definition is taken: the wire layout of a released version does not change, but names do (4.4 renames
fields of versions that 4.3 has), and columns of datasets keep theirs. So 4.3 comes first, the newest release adds
what is new in it, and 3.9 what 4.0 dropped. Errors come from the newest jar's enum
org.apache.kafka.common.protocol.Errors, run by the `java` command; slf4j-api is on its class path. The output is the
same bytes for the same jars.
"""

import argparse
import gzip
import io
import json
import re
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FACTS = Path(__file__).resolve().parent.parent / "parsers" / "kafkascope_parsers" / "schema" / "facts"
SAVED = Path(__file__).resolve().parent.parent / "fixtures" / "schemas" / "definitions.json.gz"
CENTRAL = "https://repo1.maven.org/maven2"
RELEASE_LINES = ("4.3.", "4.", "3.9.")
FIELD_KEYS = ("name", "type", "versions", "nullableVersions", "taggedVersions", "tag", "flexibleVersions", "entityType")
MESSAGES = "common/message/"
LATEST = 32767  # an open range "N+" ends here in Kafka's own Versions class

ERRORS_PROGRAM = """
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;
public class DumpErrors {
    public static void main(String[] a) {
        for (Errors e : Errors.values())
            System.out.println(e.code() + "\\t" + e.name() + "\\t" + (e.exception() instanceof RetriableException));
    }
}
"""


@dataclass(frozen=True)
class Release:
    """One kafka-clients jar: its version and its message definitions by name."""

    version: str
    messages: dict[str, dict[str, Any]]


def download(path: str) -> bytes:
    with urllib.request.urlopen(f"{CENTRAL}/{path}", timeout=180) as answer:
        return bytes(answer.read())


def newest_versions() -> list[str]:
    """The newest release of each line in Maven's metadata; candidates such as 4.4.0-rc1 do not count."""
    text = download("org/apache/kafka/kafka-clients/maven-metadata.xml").decode()
    released = re.findall(r"<version>(\d+(?:\.\d+)+)</version>", text)
    order = sorted(released, key=lambda v: tuple(map(int, v.split("."))))
    newest = [[v for v in order if v.startswith(line)][-1] for line in RELEASE_LINES]
    return list(dict.fromkeys(newest))


def fetch_jar(group: str, artifact: str, version: str, folder: Path) -> Path:
    target = folder / f"{artifact}-{version}.jar"
    target.write_bytes(download(f"{group.replace('.', '/')}/{artifact}/{version}/{target.name}"))
    return target


def load_release(jar: Path) -> Release:
    """Read every message definition of a jar. The version comes from the jar's own properties file."""
    messages = {}
    with zipfile.ZipFile(jar) as z:
        properties = io.TextIOWrapper(z.open("kafka/kafka-version.properties"), "utf-8").read()
        for name in z.namelist():
            if name.startswith(MESSAGES) and name.endswith(".json"):
                text = re.sub(r"^\s*//.*$", "", z.read(name).decode(), flags=re.M)
                message = json.loads(text)
                messages[message["name"]] = message
    found = re.search(r"^version=(\S+)$", properties, re.M)
    if found is None:
        raise SystemExit(f"{jar}: no version in kafka/kafka-version.properties")
    return Release(found.group(1), {name: without_prose(m) for name, m in sorted(messages.items())})


def without_prose(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_prose(v) for k, v in value.items() if k != "about"}
    return [without_prose(v) for v in value] if isinstance(value, list) else value


def save(releases: list[Release], errors: dict[str, Any]) -> None:
    """Keep the definitions from the jars, for load_saved."""
    held = {"releases": [{"version": r.version, "messages": r.messages} for r in releases], "errors": errors}
    SAVED.parent.mkdir(parents=True, exist_ok=True)
    SAVED.write_bytes(gzip.compress(json.dumps(held, separators=(",", ":")).encode(), 9, mtime=0))


def load_saved() -> tuple[list[Release], dict[str, Any]]:
    held = json.loads(gzip.decompress(SAVED.read_bytes()))
    return [Release(r["version"], r["messages"]) for r in held["releases"]], held["errors"]


def version_range(text: str | None) -> range:
    if text is None or text == "none":
        return range(0)
    first, dash, last = text.strip().partition("-")
    if first.endswith("+"):
        return range(int(first[:-1]), LATEST + 1)
    return range(int(first), int(last if dash else first) + 1)


def intersects(a: range, b: range) -> bool:
    return max(a.start, b.start) < min(a.stop, b.stop)


def field_facts(field: dict[str, Any], wanted: range, structs: dict[str, Any]) -> dict[str, Any]:
    out = {key: field[key] for key in FIELD_KEYS if key in field}
    out.setdefault("versions", field.get("taggedVersions"))
    if "tag" in out:
        out["tag"] = int(out["tag"])
    inner = field.get("fields") or structs.get(field["type"].removeprefix("[]"))
    if inner:
        out["fields"] = [
            field_facts(f, wanted, structs) for f in inner if intersects(version_range(f["versions"]), wanted)
        ]
    return out


def definitions(releases: list[Release], name: str) -> list[dict[str, Any]]:
    """Definitions of one message, one per release that is needed for some of its versions, with just those versions."""
    out: list[dict[str, Any]] = []
    covered: set[int] = set()
    for release in releases:
        message = release.messages.get(name)
        versions = [v for v in version_range(message["validVersions"]) if v not in covered] if message else []
        if not message or not versions:
            continue
        covered.update(versions)
        wanted = range(versions[0], versions[-1] + 1)
        if len(wanted) != len(versions):
            raise SystemExit(f"{name}: the versions only {release.version} has are not one range: {versions}")
        structs = {s["name"]: s["fields"] for s in message.get("commonStructs", [])}
        fields = message.get("fields", [])
        facts = {
            "source": f"kafka-clients {release.version}",
            "versions": f"{wanted.start}-{wanted.stop - 1}",
            "flexibleVersions": message.get("flexibleVersions", "none"),
        }
        if message.get("latestVersionUnstable"):
            facts["latestVersionUnstable"] = True
        wanted_fields = [
            f for f in fields if intersects(version_range(f.get("versions", f.get("taggedVersions"))), wanted)
        ]
        out.append({**facts, "fields": [field_facts(f, wanted, structs) for f in wanted_fields]})
    return sorted(out, key=lambda d: version_range(d["versions"]).start)


def wire_layout(fields: list[dict[str, Any]], version: int) -> list[Any]:
    """The layout of a version on the wire, without names of fields; tagged fields are left out, as they may be added at
    any time."""
    out: list[Any] = []
    for field in fields:
        if version not in version_range(field["versions"]) or version in version_range(field.get("taggedVersions")):
            continue
        inner = wire_layout(field["fields"], version) if "fields" in field else field["type"].removeprefix("[]")
        out.append([field["type"].startswith("[]"), version in version_range(field.get("nullableVersions")), inner])
    return out


def former_layouts(releases: list[Release], name: str, chosen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Versions that a release writes in another layout than the one in `chosen`: the layout changed in place."""
    out: list[dict[str, Any]] = []
    for release in releases:
        for theirs in definitions([release], name):
            for version in version_range(theirs["versions"]):
                ours = next((d for d in chosen if version in version_range(d["versions"])), None)
                if ours is not None and wire_layout(ours["fields"], version) != wire_layout(theirs["fields"], version):
                    fields = [f for f in theirs["fields"] if version in version_range(f["versions"])]
                    out.append({**theirs, "versions": f"{version}-{version}", "fields": fields})
    return out


def api_names(releases: list[Release]) -> dict[int, dict[str, str]]:
    """Per API key: message names of the request and response; the first release that knows a key names it."""
    out: dict[int, dict[str, str]] = {}
    for release in releases:
        here: dict[int, dict[str, str]] = {}
        for message in release.messages.values():
            if message["type"] in ("request", "response"):
                here.setdefault(message["apiKey"], {})[message["type"]] = message["name"]
        for key, names in here.items():
            out.setdefault(key, names)
    return out


def renamed(releases: list[Release], key: int, direction: str, name: str) -> list[Release]:
    """The releases with their message of this key and direction under one name, independent of its name in each."""
    out = []
    for r in releases:
        same = [m for m in r.messages.values() if m.get("apiKey") == key and m["type"] == direction]
        out.append(Release(r.version, {name: same[0]} if same else {}))
    return out


def errors_table(release: Release, jar: Path, slf4j: Path) -> dict[str, Any]:
    """The errors of a release, as the file of facts has them."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "DumpErrors.java"
        program.write_text(ERRORS_PROGRAM, encoding="utf-8")
        run = subprocess.run(
            ["java", "-cp", f"{jar}:{slf4j}", str(program)], check=True, capture_output=True, text=True
        )
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    errors = [
        {"code": int(c), "name": n, "retriable": r == "true"} for c, n, r in sorted(rows, key=lambda row: int(row[0]))
    ]
    return {"source": f"kafka-clients {release.version}, Errors.java", "errors": errors}


def render(value: Any, indent: str = "") -> str:
    """JSON with one field of a message per line, so that a new release reads as a diff."""
    inner = indent + " "
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(inner + render(v, inner) for v in value) + "]"
    if isinstance(value, dict) and any(isinstance(v, (dict, list)) for v in value.values()):
        flat = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in value.items() if not isinstance(v, (dict, list))]
        deep = [f"{json.dumps(k)}: {render(v, inner)}" for k, v in value.items() if isinstance(v, (dict, list))]
        head = [", ".join(flat)] if flat else []
        return "{" + f",\n{inner}".join(head + deep) + "}"
    return json.dumps(value)


def flexible_from(defs: list[dict[str, Any]]) -> int:
    """First flexible version, or -1."""
    starts = [r.start for d in defs if (r := version_range(d["flexibleVersions"]))]
    return min(starts, default=-1)


def make_facts(releases: list[Release], errors: dict[str, Any]) -> dict[str, str]:
    """All facts files: name -> text."""
    files: dict[str, str] = {}
    index = []
    for key, names in sorted(api_names(releases).items()):
        api = names["request"].removesuffix("Request")
        both: dict[str, list[dict[str, Any]]] = {}
        for direction in ("request", "response"):
            theirs = renamed(releases, key, direction, names[direction])
            both[direction] = definitions(theirs, names[direction])
            former = former_layouts(theirs, names[direction], both[direction])
            both |= {f"{direction}_formerly": former} if former else {}
        if not both["request"]:
            continue
        ranges = [version_range(d["versions"]) for d in both["request"]]
        low, high = min(r.start for r in ranges), max(r.stop for r in ranges) - 1
        index.append(
            {"api_key": key, "name": api, "min": low, "max": high, "flexible_from": flexible_from(both["request"])}
        )
        files[f"{key:03d}_{api}.json"] = render({"api_key": key, "name": api, **both}) + "\n"
    loose = {n for r in releases for n, m in r.messages.items() if m["type"] in ("header", "data")}
    for name in sorted(loose):
        files[f"{name}.json"] = render({"name": name, "definitions": definitions(releases, name)}) + "\n"
    sources = [f"kafka-clients {r.version}" for r in releases]
    files["apis.json"] = render({"sources": sources, "apis": index}) + "\n"
    files["errors.json"] = render(errors) + "\n"
    return files


def flat_fields(fields: list[dict[str, Any]], path: str = "") -> dict[str, str]:
    """The attributes of each field, by its path."""
    out = {}
    for field in fields:
        name = path + field["name"]
        out[name] = " ".join(f"{k} {v}" for k, v in field.items() if k not in ("name", "fields"))
        out |= flat_fields(field.get("fields", []), name + ".")
    return out


def flat_file(text: str) -> dict[str, str]:
    """A file of facts as lines that can be compared, by what they are about."""
    value, out = json.loads(text), {}
    for api in value.get("apis", []):
        out[api["name"]] = f"key {api['api_key']}, versions {api['min']}-{api['max']}, flexible {api['flexible_from']}"
    for error in value.get("errors", []):
        out[error["name"]] = f"code {error['code']}, {'retriable' if error['retriable'] else 'not retriable'}"
    for part in ("request", "response", "definitions", "request_formerly", "response_formerly"):
        fields: dict[str, list[str]] = {}
        for definition in value.get(part, []):
            for field, said in flat_fields(definition["fields"]).items():
                ways = fields.setdefault(field, [])
                ways += [said] if said not in ways else []
        if part in value:
            out[part] = "versions " + ", ".join(d["versions"] for d in value[part])
        out |= {f"{part} {field}": "; ".join(said) for field, said in fields.items()}
    return out


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The changes in new files, for readers: APIs, versions, errors and fields that were added, removed or changed."""
    out = []
    for name in sorted(before.keys() | after.keys()):
        old = flat_file(before[name]) if name in before else {}
        new = flat_file(after[name]) if name in after else {}
        where = name.removesuffix(".json")
        for key in [*old, *(k for k in new if k not in old)]:
            if key not in new:
                out.append(f"{where}: - {key}: {old[key]}")
            elif key not in old:
                out.append(f"{where}: + {key}: {new[key]}")
            elif old[key] != new[key]:
                out.append(f"{where}: ~ {key}: {old[key]} -> {new[key]}")
    return out


def write_or_check(files: dict[str, str], check: bool) -> int:
    present = {p.name: p.read_text("utf-8") for p in FACTS.glob("*.json")}
    changed = sorted(name for name in present.keys() | files.keys() if present.get(name) != files.get(name))
    print(*changes(present, files), *(f"changed file: {name}" for name in changed), sep="\n")
    if check:
        return int(bool(changed))
    FACTS.mkdir(parents=True, exist_ok=True)
    for name in changed:
        if name in files:
            (FACTS / name).write_text(files[name], encoding="utf-8")
        else:
            (FACTS / name).unlink()
    print(f"{len(files)} files of facts, {sum(map(len, files.values()))} bytes")
    return 0


def from_jars(jars: list[Path], slf4j: Path) -> tuple[list[Release], dict[str, Any]]:
    releases = [load_release(jar) for jar in jars]
    newest = max(range(len(jars)), key=lambda i: [int(x) for x in releases[i].version.split(".")])
    return releases, errors_table(releases[newest], jars[newest], slf4j)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--jar", action="append", type=Path, help="a local kafka-clients jar; the first that knows a version defines it"
    )
    parser.add_argument("--slf4j", type=Path, help="a local slf4j-api jar; downloaded if not given")
    parser.add_argument("--saved", action="store_true", help="no jars: the definitions kept in fixtures/schemas")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.saved:
        return write_or_check(make_facts(*load_saved()), args.check)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jars = args.jar or [fetch_jar("org.apache.kafka", "kafka-clients", v, folder) for v in newest_versions()]
        slf4j = args.slf4j or fetch_jar("org.slf4j", "slf4j-api", "1.7.36", folder)
        releases, errors = from_jars(jars, slf4j)
    status = write_or_check(make_facts(releases, errors), args.check)
    if not args.check:
        save(releases, errors)
    return status


if __name__ == "__main__":
    sys.exit(main())
