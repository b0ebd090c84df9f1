// Top of the page: the headline, what failed and who stood still because of it, then the findings. All words and numbers
// are those of report.json.

const SEVERITIES = {
  error: ["✕", "error", "Error"],
  warning: ["!", "warning", "Warning"],
  info: ["i", "info", "Note"],
  none: ["✓", "good", "Ok"],
  unknown: ["?", "info", "Unknown"],
};

function summarySection() {
  return section("happened", "What happened", headline(), incidentsBlock(), findingsBlock(), notesBlock());
}

function severityTag(severity) {
  const [sign, tone, word] = SEVERITIES[severity] || SEVERITIES.info;
  return el("span", { class: `tag ${tone}` }, el("span", { "aria-hidden": "true" }, `${sign} `), word);
}

function headline() {
  const { verdict, sentence, details: more } = STORY.headline;
  return el(
    "div",
    { class: "lead" },
    el("p", {}, severityTag(verdict), " ", el("strong", { class: "sentence" }, sentence)),
    more.map((one) => el("p", {}, one)),
  );
}

function isBroker(identity) {
  return STORY.lanes.clients[clientPlace(identity)]?.kind === "broker";
}

function incidentsBlock() {
  const { n, listed, unassigned, n_unassigned, routine, routine_text } = STORY.incidents;
  const rest = n > listed.length ? hint(`The page has ${listed.length} of ${grouped(n)}; table stories/incidents has all.`) : null;
  return el(
    "div",
    { class: "incidents" },
    n ? el("h3", {}, `Incidents (${grouped(n)})`) : null,
    listed.map((incident, place) => incidentCard(incident, place === 0)),
    rest,
    unassigned.length ? [el("h3", {}, "Stalls that belong to no incident"), waitTable(unassigned, n_unassigned)] : null,
    routine.length ? details(routine_text, false, routine.map((incident) => incidentCard(incident, false))) : null,
  );
}

function incidentCard(incident, isFirst) {
  const [, tone] = SEVERITIES[incident.severity];
  const head = el(
    "summary",
    {},
    severityTag(incident.severity),
    el("strong", { class: "title" }, incident.title),
    el("span", { class: "time" }, incident.when),
  );
  const made = el("details", { class: `incident ${tone}`, open: isFirst || incident.severity === "error" }, head);
  made.dataset.incident = incident.incident_id;
  return filledWhenOpen(made, () => incidentBody(incident));
}

// A details element whose content is made when it is first opened.
function filledWhenOpen(made, body) {
  const fill = () => made.open && made.childElementCount === 1 && made.append(body());
  made.addEventListener("toggle", fill);
  fill();
  return made;
}

function incidentBody(incident) {
  const end = incident.end_ns ?? END;
  return el(
    "div",
    { class: "body" },
    el("p", {}, incident.sentence),
    incident.waits.length ? waitTable(incident.waits, incident.n_waits) : null,
    followedBlock(incident),
    incident.advice ? el("p", {}, el("strong", {}, "What to do: "), incident.advice) : null,
    incident.how_known ? el("p", { class: "quiet" }, `Shown by: ${incident.how_known}`) : null,
    details(
      `Evidence: ${incident.packets || "no packets"}`,
      false,
      evidenceTable(incident.evidence.map((proof) => proof.id), "Evidence of the incident"),
    ),
    el(
      "p",
      { class: "row" },
      button(
        "Show in timeline",
        () => { showStretch(incident.start_ns, Math.max(end, incident.start_ns + 1e7)); jump("timeline"); },
        { class: "small" },
      ),
    ),
    [incident.cut, incident.wireshark, incident.explain].map((text) => el("p", {}, command(text))),
  );
}

// Who stood still: a line for each client and service, with a sign beside the word that says whether it is over.
function waitTable(waits, n) {
  const columns = [["Client"], ["Waited for"], ["From", "num"], ["For", "num"], ["State"], ["Errors"], [""]];
  const rows = waits.map((wait) => {
    const place = clientPlace(wait.client_instance_id ?? "");
    return [
      place >= 0 ? button(wait.who, () => showClient(place, true), { class: "link" }) : wait.who,
      wait.what,
      wait.at,
      wait.lasted,
      outcome(wait.over ? "recovered" : "still_open", wait.state),
      wait.error_names.join(", "),
      button(
        "Show",
        () => { showStretch(wait.from_ns, wait.to_ns ?? END); jump("timeline"); },
        { class: "small", "aria-label": `Show in the timeline how ${wait.who} waited` },
      ),
    ];
  });
  const rest = n > waits.length ? hint(`… and ${grouped(n - waits.length)} more: table stories/stalls has all.`) : null;
  return [table("Who stood still", columns, rows), rest];
}

function followedBlock(incident) {
  if (!incident.followed.length) return null;
  const under = STORY.findings.listed.filter((finding) => incident.finding_ids.includes(finding.finding_id));
  const lists = incident.followed.filter((part) => part.kind !== "findings").map((part) => [
    el("h5", {}, part.text),
    el("ul", { class: "plain" }, part.sentences.map((sentence, n) => followedItem(part, sentence, n))),
  ]);
  return details(`What followed: ${incident.followed_text}`, false, lists, under.map(findingCard));
}

function followedItem(part, sentence, n) {
  if (part.kind !== "recoveries") return el("li", {}, sentence);
  return el("li", {}, button(sentence, () => showEpisode(part.ids[n]), { class: "link" }));
}

// Errors and warnings that belong to no incident, in that order; notes come at the end, closed.
function findingsBlock() {
  const { present, n, listed, why_not } = STORY.findings;
  const title = el("h3", {}, STORY.incidents.n ? "Other findings" : "Findings");
  if (!present) return el("div", {}, title, hint(why_not));
  const grave = listed.filter((finding) => finding.severity !== "info" && finding.incident_id === null);
  const rest = n > listed.length
    ? hint(`The page has ${grouped(listed.length)} of ${grouped(n)}; table stories/findings has all.`)
    : null;
  if (!grave.length && !rest) return null;
  return el("div", { class: "findings" }, title, grave.map(findingCard), rest);
}

function notesBlock() {
  const notes = STORY.findings.listed.filter((one) => one.severity === "info" && one.incident_id === null);
  return notes.length ? details(
    `${count(notes.length, "note")}: worth knowing`,
    false,
    notes.map(findingCard),
  ) : null;
}

function findingCard(finding) {
  const [, tone] = SEVERITIES[finding.severity] || SEVERITIES.info;
  const head = el(
    "summary",
    {},
    severityTag(finding.severity),
    el("span", { class: "sentence" }, finding.sentence),
    el("span", { class: "time" }, finding.first_ns === null ? "" : clock(finding.first_ns)),
  );
  const open = finding.severity === "error" && finding.incident_id === null;
  return filledWhenOpen(el("details", { class: `finding ${tone}`, open }, head), () => findingBody(finding));
}

function findingBody(finding) {
  const client = clientPlace(finding.client_instance_id ?? "");
  const rest = finding.n_evidence > finding.evidence.length
    ? hint(`… and ${finding.n_evidence - finding.evidence.length} more in table stories/findings.`)
    : null;
  return el(
    "div",
    { class: "body" },
    finding.sentences.length ? el("ul", {}, finding.sentences.map((one) => el("li", {}, one))) : null,
    el("p", {}, el("strong", {}, "What to do: "), finding.advice || ""),
    el(
      "p",
      { class: "quiet" },
      `${finding.when}. Rule ${finding.rule}${finding.subject ? `, about ${finding.subject}` : ""}.`,
    ),
    evidenceTable([...finding.evidence.map((proof) => proof.id), ...finding.conn_ids], "Evidence"),
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
    el("p", {}, "Packets: ", command(finding.cut)),
    el("p", {}, "What this rule looks at: ", command(`kafkascope rules ${quoted(String(finding.rule))}`)),
  );
}
