"""The page in a real browser: it opens, zooms, filters and shows evidence, asks nobody for anything, is accessible."""

import json
import re
import urllib.parse

import pyarrow.dataset as ds
import pytest


def in_view(page) -> str:
    """The sentence over the table of what is in view, once it has followed the view."""
    if page.locator("#in-view").get_attribute("open") is None:
        page.click("#in-view summary")
    page.wait_for_timeout(450)
    return page.locator("#in-view p").first.inner_text()


def view(page) -> tuple[float, float]:
    """The stretch that the fragment names, ns."""
    page.wait_for_timeout(350)
    fragment = dict(urllib.parse.parse_qsl(page.evaluate("location.hash.slice(1)")))
    first, last = fragment.get("t", "0-34712579204").split("-")
    return int(first), int(last)


@pytest.mark.slow
def test_opens_and_answers_what_failed_who_stalled_and_for_how_long(opened, real_page):
    found = opened(real_page)
    page = found.page
    lead = page.locator(".lead").inner_text()
    worst = "The worst: broker down: node 3 (10.77.0.13:9092)"
    assert f"Warning 2 incidents (2 warnings), all over. {worst}" in " ".join(lead.split())
    assert "6 of 6 clients stalled, the longest for 5.11 s (order-api-5); all were served again." in lead
    incident = page.locator(".incident")
    output = [re.sub(r"\s+", " ", text) for text in incident.locator(".body table tbody tr").all_inner_texts()]
    assert output[0].startswith(
        "order-api-5 fetch from clicks-leader60-0 (group billing-leader29) and 5 more 00:16.602 04:28:51.179 5.11 s"
    )
    second = "svc-b-6 fetch from clicks-leader60-2 (group search-indexer-leader66) and 3 more"
    assert output[1].startswith(f"{second} 00:12.705 04:28:47.283 3.85 s ✓ over")
    body = incident.first.inner_text()
    assert "What to do, operator of the brokers: Look at the log of node 3 (10.77.0.13:9092)" in body
    commands = page.locator(".commands").inner_text()
    cut = re.search(r"kafkascope cut leader_move.kscope --incident (incident-[0-9a-f]{16}) -o \1.pcapng", commands)
    assert cut
    assert f"wireshark {cut[1]}.pcapng" in commands
    assert f"Id for commands: {cut[1]}" in body
    assert (
        page.locator("details > summary", has_text="2 routine incidents: 1 coordinator moved, 1 leader moved.").count()
        == 1
    )
    assert found.complaints == []


def test_the_table_of_incidents_says_when_the_fault_was_and_opens_each(opened, real_page):
    found = opened(real_page)
    page = found.page
    rows = page.locator("table", has_text="Incidents, the most harm first").locator("tbody tr")
    first, second = (re.sub(r"\s+", " ", text) for text in rows.all_inner_texts())
    times = "00:11.680 - 00:12.677 04:28:46.257 - 04:28:47.254 UTC 00:21.268 - 00:22.896"
    assert first.startswith(f"1 broker down: node 3 (10.77.0.13:9092) {times}")
    assert first.endswith("9.04 s 6 of 6 clients, longest 5.11 s, 53 records late ✓ yes")
    card = page.locator(".incident").nth(1)
    assert card.get_attribute("open") is None
    rows.nth(1).locator("button").click()
    assert card.get_attribute("open") is not None
    assert second.split("(")[0].split("clicks")[0].strip() == "2 leader moved:"
    assert found.complaints == []


def test_the_grid_shows_each_host_which_broker_served_it_and_when_it_did_not(opened, real_page, leader_move):
    found = opened(real_page)
    picture = found.page.locator("svg.states")
    servers = {(r["server_ip"], r["server_port"]) for r in rows_of(leader_move, "stories/broker_states", None)}
    assert picture.locator("text.strong").count() == len(servers)
    failing = [
        r for r in rows_of(leader_move, "stories/broker_states", None) if r["state"] not in ("serving", "unknown")
    ]
    assert picture.locator(".state").count() == len(failing) > 0
    assert "down to 10.77.0." in picture.locator(".state title").first.text_content()
    assert picture.locator(".mark text").all_text_contents() == ["1", "2"]
    legend = found.page.locator("svg.states").locator("xpath=../following-sibling::ul[1]")
    assert "down" in legend.inner_text()
    found.page.locator("summary", has_text="The same as a table").click()
    assert found.page.locator("table", has_text="States of servers other than served").locator(
        "tbody tr"
    ).count() == len(failing)


def test_what_followed_is_closed_and_leads_to_the_recoveries(opened, real_page):
    page = opened(real_page).page
    followed = page.locator(".incident .body details", has_text="What followed:").first
    assert followed.get_attribute("open") is None
    followed.locator("summary").first.click()
    assert page.locator(".incident", has_text="was down from").count() == 1
    assert followed.locator(".finding").count() == 0, "broker_lost says no more than the incident"
    followed.locator("button", has_text="svc-a-1: CONNECTION_CLOSED").first.click()
    page.locator("#client h3", has_text="Client svc-a-1").wait_for()


@pytest.mark.slow
def test_each_request_of_each_evidence_table_has_its_latency(opened, real_page, leader_move):
    """Or, where no answer came, that none came."""
    page = opened(real_page).page
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.wait_for_function("document.querySelectorAll('.finding .body, .incident .body').length > 2")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    tables = page.evaluate(
        """() => [...document.querySelectorAll("table")]
          .filter((one) => one.caption.textContent.startsWith("Evidence"))
          .map((one) => [...one.rows].map((row) => [...row.cells].map((cell) => cell.textContent)))"""
    )
    requests = {r["request_id"]: r for r in rows_of(leader_move, "requests", None)}
    assert len(tables) > 3
    for head, *body in tables:
        assert head[4] == "Latency"
        for cells in body:
            row = requests[cells[0]]
            if row["latency_us"] is not None:
                assert cells[4] == page_span(row["latency_us"])
            else:
                assert (
                    cells[4] == {"unanswered": "no answer", "no_response_expected": "no answer expected"}[row["status"]]
                )


def page_span(us: int) -> str:
    from kafkascope_analyzer.report.formatting import span

    return span(us)


def rows_of(dataset, table, columns):
    return ds.dataset(dataset / table, format="parquet").to_table(columns=columns).to_pylist()


def test_table_in_view_counts_the_requests_of_the_clients(opened, real_page, leader_move):
    clients = rows_of(leader_move, "stories/clients", ["kind", "conn_ids"])
    conns = {conn for client in clients if client["kind"] != "broker" for conn in client["conn_ids"]}
    brokers = {conn for client in clients if client["kind"] == "broker" for conn in client["conn_ids"]}
    requests = rows_of(leader_move, "requests", ["conn_id", "error_code", "status"])
    mine = [r for r in requests if r["conn_id"] in conns or r["conn_id"] not in brokers]
    trouble = [r for r in mine if r["error_code"] or r["status"] == "unanswered"]
    text = in_view(opened(real_page).page)
    assert f"{len(mine):,} requests" in text
    assert f"{len(trouble)} in trouble" in text


@pytest.mark.slow
def test_wheel_and_keys_zoom_and_move(opened, real_page):
    page = opened(real_page).page
    page.locator("canvas.lanes").focus()
    for _ in range(4):
        page.keyboard.press("+")
    first, last = view(page)
    assert last - first < 34_712_579_204 * 0.2
    page.keyboard.press("ArrowRight")
    moved, moved_last = view(page)
    assert moved > first
    assert moved_last - moved == pytest.approx(last - first, rel=1e-6)
    page.locator("canvas.lanes").hover()
    page.mouse.wheel(0, -400)
    zoomed, zoomed_last = view(page)
    assert zoomed_last - zoomed < (last - first) * 0.8
    page.keyboard.press("0")
    assert view(page) == (0, 34_712_579_204)


def test_drag_moves_and_shift_drag_zooms(opened, real_page):
    page = opened(real_page).page
    page.locator("canvas.lanes").scroll_into_view_if_needed()
    box = page.locator("canvas.lanes").bounding_box()
    y = box["y"] + 40
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + box["width"] * 0.25, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    first, last = view(page)
    assert first == pytest.approx(0.25 * 34_712_579_204, rel=0.02)
    assert last == pytest.approx(0.5 * 34_712_579_204, rel=0.02)
    page.mouse.move(box["x"] + 500, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, y, steps=4)
    page.mouse.up()
    assert view(page)[0] > first


@pytest.mark.slow
def test_filters_by_each_field_and_by_text(opened, real_page, leader_move):
    page = opened(real_page).page
    requests = rows_of(leader_move, "requests", ["api_name", "error_code", "group_id", "coordinator_key"])
    group = "search-indexer-leader66"
    expected = {
        ("api", "JoinGroup"): sum(r["api_name"] == "JoinGroup" for r in requests),
        ("group", group): sum(group in (r["group_id"], r["coordinator_key"]) for r in requests),
        ("error", "MEMBER_ID_REQUIRED"): sum(r["error_code"] == 79 for r in requests),
    }
    for (name, value), n in expected.items():
        page.select_option(f"form.filter select[name={name}]", value)
        page.locator("#filter-result", has_text=re.compile(f"^{n} request")).wait_for()
        page.click("form.filter >> text=Clear")
    page.fill("form.filter input[name=text]", "NOT_COORD")
    page.locator("#filter-result", has_text=re.compile("^1 request ")).wait_for()
    page.click("form.filter >> text=Clear")
    page.select_option("form.filter select[name=topic]", "clicks-leader60")
    named = {
        r["request_id"]
        for r in rows_of(leader_move, "partitions", ["topic", "request_id"])
        if r["topic"] == "clicks-leader60"
    }
    page.locator("#filter-result", has_text=re.compile(f"^{len(named):,} requests")).wait_for()


def test_click_shows_the_request_with_its_packets_and_the_cut_command(opened, real_page, leader_move):
    page = opened(real_page).page
    page.locator("canvas.lanes").focus()
    page.keyboard.press("e")
    panel = page.locator("#panel")
    panel.wait_for(state="visible")
    output = panel.inner_text()
    (request_id,) = re.findall(r"\b[0-9a-f]{16}-\d+\b(?=\n)", output)[:1]
    (row,) = [r for r in rows_of(leader_move, "requests", None) if r["request_id"] == request_id]
    assert f"{row['request_packet_no']} (request), {row['response_packet_no']} (answer)" in output
    assert row["error_name"] in output
    assert f"kafkascope cut leader_move.kscope --request {request_id} -o request-{request_id}.pcapng" in output
    panel.get_by_role("button", name="After").click()
    assert page.locator("#panel").inner_text() != output
    page.keyboard.press("Escape")
    assert not panel.is_visible()


def test_a_link_shows_the_same_view(opened, real_page):
    page = opened(real_page, fragment="#t=12000000000-17000000000&error=NOT_COORDINATOR").page
    assert page.input_value("form.filter select[name=error]") == "NOT_COORDINATOR"
    assert re.fullmatch(r"00:12\.000 . 00:17\.000 \(5\.00 s\)", page.locator("#when").inner_text())
    assert "1 request" in page.locator("#filter-result").inner_text()


def test_findings_open_their_evidence(opened, small_page):
    found = opened(small_page())
    page = found.page
    cards = page.locator(".finding summary").all_text_contents()
    assert [re.sub(r" was seen.*", "", card) for card in cards] == [
        "✕ Errora error",
        "! Warninga warning",
        "i Notea info",
    ]
    body = page.locator(".finding .body").first
    assert "change it" in body.inner_text()
    assert "Id for commands: f2" in body.inner_text()
    assert page.locator(".rebalance").count() == 2
    assert page.locator("rect.transaction.hanging").count() == 1
    assert found.complaints == []


def test_each_picture_has_a_table_and_a_name(opened, real_page):
    page = opened(real_page).page
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.wait_for_timeout(100)
    pictures = page.locator("svg[role=img]")
    assert pictures.count() >= 5
    for n in range(pictures.count()):
        name = pictures.nth(n).get_attribute("aria-label")
        assert "the table below says the same" in name or "the same as the list says" in name
    assert page.locator("#client table caption", has_text="Steps of the start").count() >= 1
    assert page.locator("#client table caption", has_text="Steps of the recovery").count() >= 1


@pytest.mark.slow
def test_axe_finds_no_serious_fault(opened, real_page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(real_page).page
    page.locator(".incident details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    page.locator("#client details").evaluate_all("all => all.slice(0, 3).forEach((one) => { one.open = true; })")
    page.locator("canvas.lanes").focus()
    page.keyboard.press("e")
    page.wait_for_timeout(400)
    faults = axe.run(page).response["violations"]
    page.emulate_media(color_scheme="dark")
    some = ["#happened", "#panel", "#timeline"]
    faults += axe.run(page, context=some, options={"runOnly": ["color-contrast"]}).response["violations"]
    serious = {
        v["id"]: [n["html"][:200] for n in v["nodes"]][:3] for v in faults if v["impact"] in ("serious", "critical")
    }
    assert serious == {}, json.dumps(serious, indent=1)


def test_printed_it_has_the_text_and_no_controls(opened, real_page):
    page = opened(real_page).page
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator("form.filter").is_visible()
    assert page.locator(".incident").first.is_visible()


def test_a_lane_for_each_broker_says_when_it_did_not_serve(opened, real_page):
    found = opened(real_page)
    page = found.page
    lane = page.locator(".label.node", has_text="node 3")
    assert "✕ 1 failure" in lane.inner_text()
    page.click("text=Table of broker states other than serving (1)")
    row = page.locator("table", has_text="Broker states").locator("tbody tr").first.inner_text().split("\t")
    assert row == ["node 3 (10.77.0.13:9092, :9093)", "down to all 5 hosts", "00:12.677", "00:22.906", "10.2 s"]
    page.locator("canvas.lanes").focus()
    for _ in range(4):  # the cluster, and a lane for each of the brokers before it
        page.keyboard.press("ArrowDown")
    announced = page.locator("#announcer").inner_text()
    assert announced == "node 3 (10.77.0.13:9092, :9093), down to all 5 hosts, 00:12.677 to 00:22.906"
    assert found.complaints == []


def places(page, client: str) -> dict[str, float]:
    """Where this client's lane and the canvas are, read in one step: a redraw makes the labels anew."""
    return page.wait_for_function(
        """(client) => {
          const labels = [...document.querySelectorAll(".label.client")];
          const label = labels.find((one) => one.textContent.includes(client))?.getBoundingClientRect();
          const canvas = document.querySelector("canvas.lanes").getBoundingClientRect();
          return label && { top: label.top, left: canvas.left, width: canvas.width, canvas: canvas.top };
        }""",
        arg=client,
    ).json_value()


def colours_at(page, y: float) -> list[int]:
    """How many colours the canvas has at this height, at 18 s (of a wait) and at 31 s (after it), once it is drawn."""
    drawn = page.wait_for_function(
        """([y]) => {
          const canvas = document.querySelector("canvas.lanes");
          const context = canvas.getContext("2d");
          const ratio = canvas.width / canvas.clientWidth;
          const x = (seconds) => Math.round((seconds / 34.7125792) * canvas.width);
          const of = (from, width) => {
            const data = context.getImageData(from, Math.round(y * ratio), width, 14).data;
            const found = new Set();
            for (let i = 0; i < data.length; i += 4) found.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
            return found.size;
          };
          const part = Math.round(40 * ratio);
          return of(0, canvas.width) > 1 && [of(x(18), part), of(x(31), part)];
        }""",
        arg=[y],
    )
    return drawn.json_value()


def test_a_wait_is_hatched_over_the_requests_and_says_what_it_waited_for(opened, real_page):
    page = opened(real_page).page
    place = places(page, "order-api-5")
    waiting, after = colours_at(page, place["top"] - place["canvas"] + 16)
    assert waiting > 4, "hatching has its strokes and their smoothing"
    assert waiting > after
    page.locator("canvas.lanes").scroll_into_view_if_needed()
    place = places(page, "order-api-5")
    page.mouse.move(place["left"] + place["width"] * 18.5 / 34.7, place["top"] + 24)
    page.locator(".tip", has_text="fetch from clicks-leader60-0").wait_for()


def test_the_table_of_clients_agrees_with_the_headline(opened, real_page):
    page = opened(real_page).page
    row = page.locator("#clients table").first.locator("tbody tr", has_text="svc-a-1")
    assert "stalled 3.83 s" in row.inner_text()


def test_topics_have_the_lag_of_each_group_and_a_bar_for_each_slice_with_one(opened, real_page, leader_move):
    """billing-leader29 was furthest behind, on all slices together as the table partition_flow has it."""
    found = opened(real_page)
    page = found.page
    rows = rows_of(leader_move, "stories/partition_flow", ["group_id", "ts_ns", "partition", "lag_last"])
    lags = {}
    known = {}
    for row in sorted((r for r in rows if r["group_id"] == "billing-leader29"), key=lambda r: r["ts_ns"]):
        if row["lag_last"] is not None:
            known[row["partition"]] = row["lag_last"]
        lags[row["ts_ns"]] = sum(known.values())
    first = page.locator("#flow table").first.locator("tbody tr").first
    cells = first.locator("th, td").all_inner_texts()
    assert cells[:2] == ["clicks-leader60", "billing-leader29"]
    assert cells[7:9] == [str(max(lags.values())), str(list(lags.values())[-1])]
    assert cells[9:11] == ["143", "0"], "the commit lag, as tests/analyzer/report/test_flow.py proves it"
    assert first.locator("rect.box").count() == sum(lag > 0 for lag in lags.values())
    page.click("#flow details > summary >> nth=0")
    slices = page.locator("#flow details").first.locator("table").nth(1).locator("tbody tr")
    assert [int(row.split("\t")[5]) for row in slices.all_inner_texts()] == list(lags.values())
    assert found.complaints == []


def test_partitions_that_nobody_read_are_on_the_lane_of_their_next_owner_and_in_a_list(opened, small_page):
    """The dataset has one partition that was unread from 0.055 s to 0.125 s, around two rebalances."""
    page = opened(small_page()).page
    groups = page.locator("#groups details").first
    bars = groups.locator("rect.unread")
    assert bars.count() == 2
    assert "from 00:00.055 to 00:00.125" in bars.first.locator("title").text_content()
    lines = groups.locator(":scope > div > ul > li").all_inner_texts()
    assert [line.split()[0] for line in lines] == ["00:00.050", "00:00.150"]
    assert all("was unread for 70.0 ms" in line for line in lines)
    groups.locator("details > summary").click()
    unread = groups.locator("tbody tr td:nth-child(7)").all_inner_texts()
    assert unread == ["70.0 ms", "70.0 ms"]


def test_the_title_is_the_capture_s_name(opened, real_page):
    page = opened(real_page).page
    assert page.title() == page.locator("h1").inner_text() == "leader_move.pcap.zst"


@pytest.mark.slow
def test_rates_by_api_group_are_read_with_the_keyboard_the_pointer_and_as_a_table(opened, real_page, leader_move):
    found = opened(real_page)
    page = found.page
    rates = {one["family"]: one for one in report_of(leader_move)["request_rates"]["families"]}
    page.locator("canvas.rates").focus()
    page.keyboard.press("ArrowDown")
    for _ in range(200):
        page.keyboard.press("ArrowRight")
    last = rates["discovery"]["slots"][-1]
    assert page.locator("#announcer").inner_text() == f"{rates['discovery']['title']}, {last['when']}, {last['text']}"
    assert last["text"] in page.locator(".tip").inner_text()
    labels = page.locator(".label.rate").all_inner_texts()
    assert [label.split("\n")[-1] for label in labels] == [one["text"] for one in rates.values()]
    page.click("#rates-table > summary")
    page.locator("#rates-table tbody tr").first.wait_for()
    cells = page.evaluate(
        "[...document.querySelectorAll('#rates-table tbody tr')].map((row) => [...row.cells].map((c) => c.textContent))"
    )
    assert len(cells) == sum(len(one["slots"]) for one in rates.values())
    assert sum(int(row[2].replace(",", "")) for row in cells) == sum(
        r["status"] != "orphan_response" for r in rows_of(leader_move, "requests", ["status"])
    )
    first = rates["records"]["slots"][0]
    sent = rows_of(leader_move, "requests", ["api_name", "ts_ns"])
    n = sum(r["api_name"] in ("Produce", "Fetch", "ListOffsets") and r["ts_ns"] < first["to_ns"] for r in sent)
    assert cells[0][1:] == ["00:00.000 to 00:00.320", str(n), "", first["text"]]
    assert found.complaints == []


def report_of(dataset):
    from kafkascope_analyzer.dataset.dataset import Dataset
    from kafkascope_analyzer.report.model.report import report_model
    from kafkascope_analyzer.report.plain import plain

    return plain(report_model(Dataset.open(dataset)), clip=True)


@pytest.mark.slow
def test_the_pointer_on_the_rates_shows_the_slot_that_the_lanes_show_below_it(opened, real_page, leader_move):
    """At 13 s and after zooming to half a second around it: the strip has the scale of the lanes."""
    start_ns = report_of(leader_move)["capture"]["start_ns"]
    data = report_of(leader_move)["request_rates"]["families"][0]
    slot = next(one for one in data["slots"] if one["to_ns"] - start_ns > 13_000_000_000)
    for fragment, share in (("", 13 / 34.712579204), ("#t=12750000000-13250000000", 0.5)):
        page = opened(real_page, fragment=fragment).page
        page.locator("canvas.rates").scroll_into_view_if_needed()
        box = page.evaluate(
            "(({ left, top, width }) => ({ left, top, width }))"
            "(document.querySelector('canvas.rates').getBoundingClientRect())"
        )
        page.mouse.move(box["left"] + box["width"] * share, box["top"] + 20)
        page.locator(".tip", has_text=slot["text"]).wait_for()
        assert slot["when"] in page.locator(".tip").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_narrow_screen_the_timeline_begins_on_the_first_screen(opened, real_page, scheme):
    found = opened(real_page, size=(500, 800), scheme=scheme)
    page = found.page
    top, wide = page.evaluate(
        "[document.querySelector('#timeline').getBoundingClientRect().top, document.documentElement.scrollWidth]"
    )
    assert top < 600
    assert wide == 500, "nothing but the pictures scrolls sideways"
    order = page.locator("main > section").evaluate_all("all => all.map((one) => one.id)")
    assert order[:3] == ["happened", "timeline", "incidents"]
    assert page.locator("#incidents .incident").count() > 0
    assert found.complaints == []


def test_no_table_is_wider_than_its_place_on_a_screen_of_1280(opened, real_page):
    page = opened(real_page).page
    page.set_viewport_size({"width": 1280, "height": 900})
    wide = page.evaluate(
        """() => [...document.querySelectorAll(".scrolls > table")]
            .filter((table) => table.scrollWidth > table.parentElement.clientWidth)
            .map((table) => table.caption.textContent)"""
    )
    assert page.locator("caption", has_text="What each producer wrote").count() == 1
    assert wide == []
