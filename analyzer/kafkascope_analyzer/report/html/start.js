// Puts the page together once its data is unpacked.

async function start() {
  const waiting = el("p", { class: "waiting", role: "status" }, "Unpacking the report …");
  document.body.append(waiting);
  try {
    await loadData();
  } catch (error) {
    waiting.textContent = `The report cannot be unpacked here (${error.message}). It needs Chromium 103, Firefox 113, Safari 16.4 or newer.`;
    return;
  }
  END = Math.max(1, (STORY.capture.end_ns ?? 1) + 1);
  prepareFamilies();
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
  onView(inViewLater);
  listenTimeline();
  let pending = 0;
  new ResizeObserver(() => {
    clearTimeout(pending);
    pending = setTimeout(resized, 60);
  }).observe(TIMELINE.scroller.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", resized);
  window.addEventListener("hashchange", followLink);
  window.addEventListener(
    "keydown",
    (event) => event.key === "Escape" && !document.getElementById("panel").hidden && closePanel(),
  );
  window.addEventListener(
    "beforeprint",
    () => document.querySelectorAll("details.incident, details.finding").forEach((one) => (one.open = true)),
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
  const worst = () => {
    const felt = new Map();
    for (const one of STORY.episodes.listed) if (!isBroker(one.client_instance_id)) felt.set(
      one.client_instance_id,
      (felt.get(one.client_instance_id) || 0) + (one.time_to_recover_ms ?? 1e9),
    );
    const [identity] = [...felt.entries()].sort((a, b) => b[1] - a[1])[0]
      || [STORY.starts.listed[0]?.client_instance_id ?? ""];
    return clientPlace(identity);
  };
  const number = VIEW.client >= 0 ? VIEW.client : worst();
  if (number >= 0) showClient(number, false);
  if (VIEW.request >= 0) openRequest(VIEW.request);
}

start();
