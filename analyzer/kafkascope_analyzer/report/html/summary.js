// Top of the page: what broke and when, which clients felt it, how long until they worked again; then the findings.

const SEVERITIES = {
  error: ["✕", "error", "Error"],
  warning: ["!", "warning", "Warning"],
  info: ["i", "info", "Note"],
};

function summarySection() {
  return section("happened", "What happened", headline(), findingsBlock(), causesBlock(), notesBlock());
}

function headline() {
  const causes = STORY.causes.listed;
  const clients = STORY.lanes.clients.filter((client) => client.kind !== "broker" && client.kind !== "unassigned");
  const felt = new Set(causes.flatMap((cause) => cause.felt.map((one) => one.client_instance_id)));
  const hit = clients.filter((client) => felt.has(client.client_instance_id));
  if (!STORY.stories.present) return el(
    "p",
    { class: "lead" },
    STORY.stories.why_not || "The dataset has no stories.",
  );
  if (!causes.length) return el(
    "p",
    { class: "lead" },
    outcome(
      "recovered",
      `Nothing broke that the capture shows: ${count(clients.length, "client")} without an error to recover from.`,
    ),
  );
  const open = causes.filter((cause) => isUnwell(cause) && cause.n_clients);
  const first = causes[0];
  const parted = causes.some((cause) => judged(cause).some((one) => wentOn(cause, one)));
  const elsewhere = `Every client worked again${parted ? ", or went on without the broker that it lost" : ""}.`;
  const last = causes.reduce((end, cause) => Math.max(end, cause.end_ns), 0);
  return el(
    "p",
    { class: "lead" },
    `${count(STORY.causes.n, "thing")} broke between ${clock(first.since_ns)} and ${clock(last)}. `,
    `${hit.length} of ${count(clients.length, "client")} felt it. `,
    open.length ? outcome(
      "fatal",
      `In ${count(open.length, "case")} not every client worked again.`,
    ) : outcome("recovered", elsewhere),
  );
}

function isBroker(identity) {
  return STORY.lanes.clients[clientPlace(identity)]?.kind === "broker";
}

function causesBlock() {
  const causes = STORY.causes.listed;
  if (!causes.length) return null;
  const more = STORY.causes.n > causes.length
    ? hint(`The page has the ${causes.length} that hit most; table stories/recoveries has all.`)
    : null;
  return el(
    "div",
    { class: "causes" },
    el("h3", {}, "What broke, who felt it, how long until they worked again"),
    strip(causes),
    causes.map(causeCard),
    more,
  );
}

// The causes on one line of time: a bar for each time that something of it lasted.
function strip(causes) {
  const height = causes.length * 9 + 20;
  const name = "When each of the things below broke and how long it lasted; the same as the list says";
  const marks = [0, 0.25, 0.5, 0.75, 1].map((share) => svg(
    "text",
    { x: share * 1000, y: height - 4, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" },
    clock(share * END, 0),
  ));
  const box = { class: "strip", viewBox: `0 0 1000 ${height}`, role: "img", "aria-label": name };
  return svg("svg", box, causes.map((cause, n) => stripLine(cause, 4 + n * 9)), marks);
}

function stripLine(cause, y) {
  const x = (ns) => (ns / END) * 1000;
  const bars = stretches(cause).map(([from, to]) => svg(
    "rect",
    { class: `bar-${causeTone(cause)}`, x: x(from), y, width: Math.max(3, x(to) - x(from)), height: 6, rx: 2 },
  ));
  const cross = { class: "stroke-error", d: `M 988 ${y - 1} l 8 8 m -8 0 l 8 -8` };
  return svg("g", {}, bars, isUnwell(cause) ? svg("path", cross) : null);
}

// The stretches of time in which an episode of the cause lasted; what overlaps is one.
function stretches(cause) {
  const counted = new Set(judged(cause).map((one) => one.client_instance_id));
  const mine = STORY.episodes.listed.filter((one) => one.cause_id === cause.cause_id
    && counted.has(one.client_instance_id));
  const ends = mine.map((one) => [one.since_ns, one.recovered_ns ?? (isUnwell(cause) ? END : one.start_ns)]);
  const made = [];
  for (const [from, to] of ends.sort((a, b) => a[0] - b[0])) {
    if (made.length && from <= made.at(-1)[1]) made.at(-1)[1] = Math.max(made.at(-1)[1], to);
    else made.push([from, to]);
  }
  return made.length ? made : [[cause.since_ns, causeEnd(cause)]];
}

// Brokers count only where no client felt it.
function judged(cause) {
  const mine = cause.felt.filter((one) => !isBroker(one.client_instance_id));
  return mine.length ? mine : cause.felt;
}

// Those that did not get well again. Who lost a broker, never came back to it and still moved records elsewhere is
// well.
function unwellOf(cause) {
  return judged(cause).filter((one) => !one.well && !wentOn(cause, one));
}

function isUnwell(cause) {
  return unwellOf(cause).length > 0;
}

const WENT_ON = new Map();

function wentOn(cause, one) {
  if (cause.kind !== "broker_lost" || one.well) return false;
  const key = `${cause.cause_id} ${one.client_instance_id}`;
  if (!WENT_ON.has(key)) WENT_ON.set(key, movedRecordsAfter(one.client_instance_id, one.start_ns));
  return WENT_ON.get(key);
}

// Whether a request about records (Produce, Fetch, ListOffsets) after this time was answered without an error.
function movedRecordsAfter(identity, ns) {
  const client = STORY.lanes.clients[clientPlace(identity)];
  for (const conn of client?.conns ?? []) {
    for (let i = REQ.firstOf[conn + 1] - 1; i >= REQ.firstOf[conn] && REQ.start[i] > ns; i--) {
      if (REQ.status[i] === 0 && !REQ.error[i] && FAMILY_OF_API[REQ.api[i]] === 0) return true;
    }
  }
  return false;
}

function causeTone(cause) {
  return isUnwell(cause) ? "error" : "warning";
}

function causeEnd(cause) {
  if (isUnwell(cause)) return END;
  return judged(cause).reduce((end, one) => Math.max(end, one.recovered_ns ?? 0), cause.since_ns + 1);
}

// Longest time to recover among clients that are no brokers, where there are any.
function longest(cause) {
  const told = judged(cause).filter((one) => one.took_us !== null);
  return told.reduce((most, one) => Math.max(most, one.took_us), 0);
}

function causeCard(cause) {
  const clients = cause.clients.map((client) => client.client_id || client.client_ip || "?");
  const brokers = cause.n_brokers ? ` and ${count(cause.n_brokers, "broker’s client", "brokers’ clients")}` : "";
  const who = cause.n_clients ? `felt by ${listOf([...new Set(clients)], 5)}${brokers}` : "felt by brokers only";
  const head = el(
    "summary",
    {},
    el("span", { class: "time" }, clock(cause.since_ns), el("span", { class: "wall" }, timeOfDay(cause.since_ns))),
    el("span", {}, el("strong", {}, cause.title), cause.storm ? el("span", { class: "tag error storm" }, "storm") : null),
    el("span", { class: "who" }, who),
    ending(cause),
  );
  const made = el("details", { class: `cause ${causeTone(cause)}` }, head);
  made.addEventListener("toggle", () => made.open && made.childElementCount === 1 && made.append(causeBody(cause)));
  return made;
}

// How it ended for those who felt it.
function ending(cause) {
  const took = longest(cause);
  const unwell = unwellOf(cause);
  if (unwell.length) return outcome("fatal", endedText(unwell, took));
  const times = stretches(cause).length;
  const parting = judged(cause).filter((one) => wentOn(cause, one)).map(feltName);
  const without = parting.length ? `${listOf(parting, 2)} went on without it` : "";
  if (!took) return outcome("recovered", without);
  const well = times > 1 ? `${times} times, each over within ${span(took)}` : `all worked again within ${span(took)}`;
  return outcome("recovered", without ? `${well}; ${without}` : well);
}

function endedText(unwell, took) {
  const names = [...new Set(unwell.map((one) => feltName(one)))];
  const others = took ? `, the others within ${span(took)}` : "";
  const how = Object.keys(unwell[0].outcomes).find((name) => name !== "recovered") || "not recovered";
  return `${listOf(names, 3)}: ${words(how)}${others}`;
}

function feltName(one) {
  const client = STORY.lanes.clients[clientPlace(one.client_instance_id)];
  return client ? clientName(client) : one.client_instance_id;
}

function causeBody(cause) {
  const columns = [
    ["Client"],
    ["Felt from", "num"],
    ["Noticed", "num"],
    ["Worked again", "num"],
    ["After", "num"],
    ["Errors", "num"],
    ["What of its"],
    ["How it ended"],
    [""],
  ];
  const rows = cause.felt.map((one) => feltRow(one));
  const errors = Object.entries(cause.errors).map(([name, n]) => `${name} (${n})`);
  const rest = cause.n_felt > cause.felt.length
    ? hint(`… and ${grouped(cause.n_felt - cause.felt.length)} more clients.`)
    : null;
  return el(
    "div",
    { class: "body" },
    el(
      "p",
      {},
      `It hit ${cause.radius}. ${count(cause.n_errors, "error")}, ${count(cause.n_wasted_requests, "wasted request")}: ${errors.join(", ")}.`,
      cause.new_node_ids.length ? ` Work went on at ${cause.new_node_ids.map(nodeName).join(", ")}.` : "",
    ),
    table("Who felt it", columns, rows),
    rest,
    el(
      "p",
      { class: "row" },
      button(
        "Show in timeline",
        () => { showStretch(cause.since_ns, causeEnd(cause)); jump("timeline"); },
        { class: "small" },
      ),
      " Packets of the worst: ",
      command(cutCommand("--recovery", cause.worst.recovery_id, cause.worst.recovery_id)),
    ),
  );
}

function feltRow(one) {
  const place = clientPlace(one.client_instance_id);
  const name = place >= 0 ? button(
    feltName(one),
    () => showClient(place, true),
    { class: "link" },
  ) : one.client_instance_id;
  const ended = Object.entries(one.outcomes).map(([kind, n]) => [outcome(kind, `${n} ${words(kind)}`), " "]);
  return [
    name,
    clock(one.since_ns),
    one.since_ns < one.start_ns ? clock(one.start_ns) : "at once",
    one.took_us === null && !one.well ? "not in the capture" : clock(one.recovered_ns),
    span(one.took_us),
    one.n_errors,
    (one.resource ?? "") + (one.n_episodes > 1 ? ` and ${one.n_episodes - 1} more` : ""),
    ended,
    button(
      "Episode",
      () => showEpisode(one.worst),
      { class: "small", "aria-label": `Show the worst episode of ${feltName(one)}` },
    ),
  ];
}

// Errors and warnings, in that order; notes come at the end, closed.
function findingsBlock() {
  const { present, n, listed } = STORY.findings;
  const title = el("h3", {}, "Findings");
  const old = "This dataset has no findings: it was made before there were any, or without stories.";
  if (!present) return el("div", {}, title, hint(`${old} The command kafkascope stories makes them.`));
  const grave = listed.filter((finding) => finding.severity !== "info");
  const well = n ? "No error and no warning; notes are below." : "No rule found anything.";
  if (!grave.length) return el("div", {}, title, el("p", {}, outcome("recovered", well)));
  const more = n > listed.length
    ? hint(`The page has ${grouped(listed.length)} of ${grouped(n)}; table stories/findings has all.`)
    : null;
  return el("div", { class: "findings" }, title, grave.map(findingCard), more);
}

function notesBlock() {
  const notes = STORY.findings.listed.filter((finding) => finding.severity === "info");
  return notes.length ? details(
    `${count(notes.length, "note")}: worth knowing`,
    false,
    notes.map(findingCard),
  ) : null;
}

function findingCard(finding) {
  const [sign, tone, word] = SEVERITIES[finding.severity] || SEVERITIES.info;
  const head = el(
    "summary",
    {},
    el("span", { class: `tag ${tone}` }, el("span", { "aria-hidden": "true" }, `${sign} `), word),
    el("span", { class: "sentence" }, finding.sentence),
    el("span", { class: "time" }, finding.first_ns === null ? "" : clock(finding.first_ns)),
  );
  const made = el(
    "details",
    { class: `finding ${tone}`, open: finding.severity === "error" && STORY.findings.n < 6 },
    head,
  );
  const fill = () => made.open && made.childElementCount === 1 && made.append(findingBody(finding));
  made.addEventListener("toggle", fill);
  fill();
  return made;
}

function findingBody(finding) {
  const client = clientPlace(finding.client_instance_id ?? "");
  const times = finding.n > 1
    ? `${count(finding.n, "time")} from ${clock(finding.first_ns)} to ${clock(finding.last_ns)}. `
    : "";
  const rest = finding.n_evidence > (finding.evidence || []).length
    ? hint(`… and ${finding.n_evidence - finding.evidence.length} more in table stories/findings.`)
    : null;
  return el(
    "div",
    { class: "body" },
    el("p", {}, el("strong", {}, "What to do: "), finding.advice || ""),
    el(
      "p",
      { class: "quiet" },
      `${times}Rule ${finding.rule}${finding.subject ? `, about ${finding.subject}` : ""}.`,
    ),
    evidenceTable([...(finding.evidence || []), ...(finding.conn_ids || [])], "Evidence"),
    rest,
    el(
      "p",
      { class: "row" },
      client >= 0 ? button(
        `Client ${clientName(STORY.lanes.clients[client])}`,
        () => showClient(client, true),
        { class: "small" },
      ) : null,
      finding.first_ns === null ? null : button(
        "Show in timeline",
        () => { showStretch(finding.first_ns, Math.max(finding.last_ns, finding.first_ns + 1e7)); jump("timeline"); },
        { class: "small" },
      ),
    ),
    el("p", {}, "Packets: ", command(cutCommand("--finding", finding.finding_id, finding.finding_id))),
    el("p", {}, "What this rule looks at: ", command(`kafkascope rules ${quoted(String(finding.rule))}`)),
  );
}
