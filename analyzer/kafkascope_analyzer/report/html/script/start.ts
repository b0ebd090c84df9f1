// Puts the page together once its data is unpacked.

import { captureSection, navigation, pageHead } from "./drawing/capture.ts";
import { clientsSection, showClient } from "./drawing/clients.ts";
import { comparisonHead, comparisonSections } from "./drawing/comparison.ts";
import { byId, el } from "./drawing/dom.ts";
import { loadComparison, loadData } from "./drawing/embedded.ts";
import { applyFilter, showFilter } from "./drawing/filter_form.ts";
import { flowSection } from "./drawing/flow.ts";
import { keepFragment, readFragment } from "./drawing/fragment.ts";
import { drawOnFrames } from "./drawing/frames.ts";
import { groupsSection } from "./drawing/groups.ts";
import { inViewLater } from "./drawing/in_view.ts";
import { latencySection } from "./drawing/latency.ts";
import { drawMinimap } from "./drawing/minimap.ts";
import { closePanel, openRequest, requestPanel } from "./drawing/panel.ts";
import { listenTimeline } from "./drawing/pointer.ts";
import { drawRates } from "./drawing/rates.ts";
import { serviceSection } from "./drawing/service.ts";
import { TIMELINE } from "./drawing/stage.ts";
import { narrowSummary, summarySection } from "./drawing/summary.ts";
import { drawTimeline, resized, timelineSection } from "./drawing/timeline.ts";
import { startMoment, topologySection } from "./drawing/topology.ts";
import { transactionsSection } from "./drawing/transactions.ts";
import { prepareBands } from "./facts/bands.ts";
import { clientPlace, STORY } from "./facts/data.ts";
import { computeFilter } from "./facts/filter.ts";
import type { Comparison } from "./facts/story.d.ts";
import { prepareWaits } from "./facts/waits.ts";
import { layRows } from "./layout/rows.ts";
import { VIEW } from "./layout/view.ts";

export async function start() {
  const waiting = el("p", { class: "waiting", role: "status" }, "Unpacking the report …");
  document.body.append(waiting);
  try {
    const comparison = await loadComparison();
    if (comparison) return showComparison(comparison, waiting);
    await loadData();
  } catch (error) {
    waiting.textContent = `The report cannot be unpacked here (${error}). It needs Chromium 103, Firefox 113, Safari 16.4 or newer.`;
    return;
  }
  prepareBands();
  prepareWaits();
  VIEW.brokers = STORY.lanes.clients.every((client) => client.kind === "broker");
  waiting.remove();
  build();
  readFragment();
  showFilter();
  computeFilter();
  layRows();
  resized();
  applyFilter();
  startMoment();
  listen();
  showFirst();
  document.documentElement.dataset.ready = "1";
}

function showComparison(comparison: Comparison, waiting: HTMLElement) {
  waiting.remove();
  document.body.append(
    comparisonHead(comparison),
    comparisonSections(comparison),
    el("div", { id: "announcer", class: "unseen", "aria-live": "polite" }),
  );
  document.documentElement.dataset.ready = "1";
}

function build() {
  document.body.append(
    el("a", { class: "skip", href: "#happened" }, "Skip to what happened"),
    pageHead(),
    navigation(),
    el(
      "main",
      {},
      summarySection(),
      timelineSection(),
      narrowSummary(),
      clientsSection(),
      topologySection(),
      groupsSection(),
      transactionsSection(),
      flowSection(),
      latencySection(),
      serviceSection(),
      captureSection(),
    ),
    requestPanel(showClient),
    el("div", { id: "announcer", class: "unseen", "aria-live": "polite" }),
  );
}

function listen() {
  drawOnFrames(drawTimeline, drawMinimap, drawRates, inViewLater);
  keepFragment();
  listenTimeline();
  let pending = 0;
  new ResizeObserver(() => {
    clearTimeout(pending);
    pending = window.setTimeout(resized, 60);
  }).observe(TIMELINE.scroller.parentElement as Element);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", resized);
  window.addEventListener("hashchange", followLink);
  window.addEventListener("keydown", (event) => event.key === "Escape" && !byId("panel").hidden && closePanel());
  window.addEventListener("beforeprint", () =>
    document.querySelectorAll<HTMLDetailsElement>("details.incident, details.finding").forEach((one) => {
      one.open = true;
    }),
  );
}

// A link to another view of the same page, pasted into its address.
function followLink() {
  readFragment();
  showFilter();
  applyFilter();
  if (VIEW.request >= 0) openRequest(VIEW.request);
}

// The client that the link names; else the one that was in most trouble.
function showFirst() {
  const number = VIEW.client >= 0 ? VIEW.client : clientPlace(STORY.first_client);
  if (number >= 0) showClient(number, false);
  if (VIEW.request >= 0) openRequest(VIEW.request);
}

start();
