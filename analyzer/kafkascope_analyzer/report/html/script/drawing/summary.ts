// Top of the page: the headline, the table of incidents, the grid of brokers and hosts, each incident with who stalled
// because of it, then the findings. All words and numbers are those of report.json.

import { clientPlace, END, STORY } from "../facts/data.ts";
import { clock, grouped } from "../facts/figures.ts";
import type { Consequence, Finding, Incident, Wait } from "../facts/story.d.ts";
import { showStretch } from "../layout/view.ts";
import { showClient, showEpisode } from "./clients.ts";
import { button, command, details, el, filledWhenOpen, hint, isNarrow, jump, section } from "./dom.ts";
import { evidenceTable } from "./evidence.ts";
import { incidentTable } from "./incident_table.ts";
import { outcome } from "./signs.ts";
import { stateGrid } from "./state_grid.ts";
import { table } from "./table.ts";

const SEVERITIES: Record<string, string[]> = {
  error: ["✕", "error", "Error"],
  warning: ["!", "warning", "Warning"],
  info: ["i", "info", "Note"],
  none: ["✓", "good", "Ok"],
  unknown: ["?", "info", "Unknown"],
};

// The headline with all that belongs to it below; on a narrow screen the headline alone, so that the timeline begins on
// the first screen and the rest follows it.
export function summarySection() {
  return section("happened", "What happened", headline(), isNarrow() ? null : incidentsAndFindings());
}

export function narrowSummary() {
  return isNarrow() ? section("incidents", "Incidents and findings", incidentsAndFindings()) : null;
}

function incidentsAndFindings() {
  return [incidentsBlock(), findingsBlock(), notesBlock(), commandsBlock()];
}

function severityTag(severity: string) {
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

function incidentsBlock() {
  const { n, listed, unassigned, n_unassigned, routine, routine_text } = STORY.incidents;
  const rest =
    n > listed.length ? hint(`The page has ${listed.length} of ${grouped(n)}; table stories/incidents has all.`) : null;
  return el(
    "div",
    { class: "incidents" },
    n ? el("h3", {}, `Incidents (${grouped(n)})`) : null,
    n ? incidentTable(listed, showIncident) : null,
    stateGrid(showIncident),
    listed.map((incident, place) => incidentCard(incident, place === 0)),
    rest,
    unassigned.length ? [el("h3", {}, "Stalls that belong to no incident"), waitTable(unassigned, n_unassigned)] : null,
    routine.length
      ? details(
          routine_text,
          false,
          routine.map((incident) => incidentCard(incident, false)),
        )
      : null,
  );
}

// Opens the card of an incident and goes there.
function showIncident(id: string) {
  const card = document.querySelector<HTMLDetailsElement>(`details[data-incident="${id}"]`);
  if (!card) return;
  card.open = true;
  card.scrollIntoView({ block: "start" });
  card.querySelector("summary")?.focus({ preventScroll: true });
}

function incidentCard(incident: Incident, isFirst: boolean) {
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

function incidentBody(incident: Incident) {
  const end = incident.end_ns ?? END;
  return el(
    "div",
    { class: "body" },
    el("p", {}, incident.sentence),
    incident.waits.length ? waitTable(incident.waits, incident.n_waits) : null,
    courseTable(incident),
    incident.restarts.map((text) => el("p", {}, el("strong", {}, "Restart: "), text)),
    followedBlock(incident),
    incident.actions.map((one) => el("p", {}, el("strong", {}, `What to do, ${one.owner}: `), one.text)),
    incident.how_known ? el("p", { class: "quiet" }, `Shown by: ${incident.how_known}`) : null,
    el("p", { class: "quiet" }, "Id for commands: ", el("code", {}, incident.incident_id)),
    details(
      `Evidence: ${incident.packets || "no packets"}`,
      false,
      evidenceTable(
        incident.evidence.map((proof) => proof.id),
        "Evidence of the incident",
      ),
    ),
    el(
      "p",
      { class: "row" },
      button(
        "Show in timeline",
        () => {
          showStretch(incident.start_ns, Math.max(end, incident.start_ns + 1e7));
          jump("timeline");
        },
        { class: "small" },
      ),
    ),
  );
}

// Who stalled: a line for each client and service, with a sign beside the words that say how it ended.
function waitTable(waits: Wait[], n: number) {
  const columns = [["Client"], ["Waited for"], ["From", "num"], ["For", "num"], ["State"], ["Errors"], [""]];
  const lines = waits.map((wait) => {
    const place = clientPlace(wait.client_instance_id ?? "");
    return [
      place >= 0 ? button(wait.who, () => showClient(place, true), { class: "link" }) : wait.who,
      wait.what,
      [wait.at, el("span", { class: "wall" }, wait.of_day)],
      wait.lasted,
      outcome(wait.outcome, wait.state),
      wait.error_names.join(", "),
      button(
        "Show",
        () => {
          showStretch(wait.from_ns, wait.to_ns ?? END);
          jump("timeline");
        },
        { class: "small", "aria-label": `Show in the timeline how ${wait.who} waited` },
      ),
    ];
  });
  const [first, others] = [lines.slice(0, STORY.first_waits), lines.slice(STORY.first_waits)];
  const left = n > waits.length ? hint(`… and ${grouped(n - waits.length)} more: table stories/stalls has all.`) : null;
  return [
    table("Who stalled", columns, first),
    others.length
      ? details(`… and ${grouped(n - first.length)} more`, false, table("Who stalled too", columns, others), left)
      : null,
  ];
}

// From the failure until the last client was served, each step with its packet.
function courseTable({ course }: Incident) {
  const rows = course.map((one) => [one.step, one.at, one.of_day, one.what, one.packet_no ?? ""]);
  const columns = [["Step"], ["At", "num"], ["UTC", "num"], ["What"], ["Packet", "num"]];
  return rows.length ? table("Its course", columns, rows) : null;
}

function followedBlock(incident: Incident) {
  if (!incident.followed.length) return null;
  const under = STORY.findings.listed.filter((finding) => incident.finding_ids.includes(finding.finding_id));
  const lists = incident.followed
    .filter((part) => part.kind !== "findings")
    .map((part) => [
      el("h5", {}, part.text),
      el(
        "ul",
        { class: "plain" },
        part.sentences.map((sentence, n) => followedItem(part, sentence, n)),
      ),
    ]);
  return details(`What followed: ${incident.followed_text}`, false, lists, under.map(findingCard));
}

function followedItem(part: Consequence, sentence: string, n: number) {
  if (part.kind !== "recoveries") return el("li", {}, sentence);
  return el(
    "li",
    {},
    button(sentence, () => showEpisode(part.ids[n]), { class: "link" }),
  );
}

// Errors and warnings that belong to no incident, in that order; notes come at the end, closed.
function findingsBlock() {
  const { present, n, listed, why_not, title, alone } = STORY.findings;
  if (!present) return el("div", {}, el("h3", {}, title), hint(why_not));
  const rest =
    n > listed.length
      ? hint(`The page has ${grouped(listed.length)} of ${grouped(n)}; table stories/findings has all.`)
      : null;
  if (!alone.length && !rest) return null;
  return el(
    "div",
    { class: "findings" },
    el("h3", {}, title),
    alone.map((place) => findingCard(listed[place])),
    rest,
  );
}

function notesBlock() {
  const { listed, notes_title, notes } = STORY.findings;
  return notes.length
    ? details(
        notes_title,
        false,
        notes.map((place) => findingCard(listed[place])),
      )
    : null;
}

function findingCard(finding: Finding) {
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

function findingBody(finding: Finding) {
  const client = clientPlace(finding.client_instance_id ?? "");
  const first = finding.first_ns;
  const rest =
    finding.n_evidence > finding.evidence.length
      ? hint(`… and ${finding.n_evidence - finding.evidence.length} more in table stories/findings.`)
      : null;
  return el(
    "div",
    { class: "body" },
    finding.sentences.length
      ? el(
          "ul",
          {},
          finding.sentences.map((one) => el("li", {}, one)),
        )
      : null,
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
      client >= 0
        ? button(`Client ${STORY.lanes.clients[client].name}`, () => showClient(client, true), { class: "small" })
        : null,
      first === null
        ? null
        : button(
            "Show in timeline",
            () => {
              showStretch(first, Math.max(finding.last_ns ?? first, first + 1e7));
              jump("timeline");
            },
            { class: "small" },
          ),
    ),
    el("p", { class: "quiet" }, "Id for commands: ", el("code", {}, finding.finding_id)),
  );
}

// The commands to read on, once for everything above.
function commandsBlock() {
  const { explain, cut, wireshark, likewise } = STORY.commands;
  if (!explain) return null;
  return el(
    "div",
    { class: "commands" },
    el("h3", {}, "To read on, and to see the packets"),
    [explain, cut, wireshark].map((text) => el("p", {}, command(text))),
    hint(likewise),
  );
}
