// Puts the page together once its data is unpacked.

import { prepareBands } from "./bars.ts";
import { captureSection, navigation, pageHead } from "./capture.ts";
import { clientsSection, showClient } from "./clients.ts";
import { clientPlace, loadData, STORY } from "./data.ts";
import { byId, el } from "./dom.ts";
import { applyFilter, computeFilter, showFilter } from "./filter.ts";
import { flowSection } from "./flow.ts";
import { groupsSection } from "./groups.ts";
import { inViewLater } from "./in_view.ts";
import { layRows } from "./lanes.ts";
import { latencySection } from "./latency.ts";
import { drawMinimap } from "./minimap.ts";
import { listenTimeline } from "./pointer.ts";
import { drawRates } from "./rates.ts";
import { closePanel, openRequest, requestPanel } from "./request.ts";
import { narrowSummary, summarySection } from "./summary.ts";
import { drawTimeline, resized, TIMELINE, timelineSection } from "./timeline.ts";
import { startMoment, topologySection } from "./topology.ts";
import { transactionsSection } from "./transactions.ts";
import { onView, readFragment, VIEW } from "./view.ts";
import { prepareWaits } from "./waits.ts";

export async function start() {
  const waiting = el("p", { class: "waiting", role: "status" }, "Unpacking the report …");
  document.body.append(waiting);
  try {
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
      captureSection(),
    ),
    requestPanel(),
    el("div", { id: "announcer", class: "unseen", "aria-live": "polite" }),
  );
}

function listen() {
  onView(drawTimeline);
  onView(drawMinimap);
  onView(drawRates);
  onView(inViewLater);
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
