// Groups: each rebalance as a bar on the capture's time, under it each member's way to its assignment, and when nobody
// read the partitions that it has.

import { END, STORY } from "../facts/data.ts";
import { clock, count, nodeName, span, words } from "../facts/figures.ts";
import { departedText, joinedLast, memberKey, memberName } from "../facts/groups.ts";
import type { Member, ReassignedPartition, Rebalance } from "../facts/story.d.ts";
import { groupX } from "../layout/capture_scale.ts";
import { groupMarks, groupName, MOST_GROUPS } from "./capture_scale.ts";
import { type Child, details, el, hint, picture, section, svg } from "./dom.ts";
import { packetLinks } from "./evidence.ts";
import { table } from "./table.ts";

const GROUP_LANE = 15;
const MOST_UNREAD = 12;

export function groupsSection() {
  const { present, listed, n, groups } = STORY.rebalances;
  if (!present)
    return section(
      "groups",
      "Groups",
      hint("This dataset has no table of rebalances: it was made before there was one, or without stories."),
    );
  if (!n) return section("groups", "Groups", el("p", {}, "No group rebalanced in the capture."));
  const more =
    groups.length > MOST_GROUPS
      ? hint(`… and ${groups.length - MOST_GROUPS} more groups (table stories/rebalances).`)
      : null;
  const blocks = groups.slice(0, MOST_GROUPS).map(({ name, in_short, places }, n) => {
    const title = [el("strong", {}, name), ` · ${in_short}`];
    return groupBlock(
      title,
      places.map((place) => listed[place]),
      n < 4,
    );
  });
  return section("groups", "Groups", blocks, more);
}

function groupBlock(title: Child, rebalances: Rebalance[], open: boolean) {
  return details(
    title,
    open,
    groupPicture(rebalances),
    hint(
      "Outlined: from a member’s join to its assignment; ▸ the last to join; solid: nobody read a partition that it had next.",
    ),
    unreadList(rebalances),
    details("Table of the rebalances", false, rebalanceTable(rebalances)),
  );
}

// The rebalances around which partitions were unread, by time.
function unreadList(rebalances: Rebalance[]) {
  const unread = rebalances.filter((one) => one.unread_text);
  if (!unread.length) return null;
  const lines = unread.slice(0, MOST_UNREAD).map((one) => el("li", {}, `${clock(one.start_ns)} ${one.unread_text}`));
  const more =
    unread.length > MOST_UNREAD ? hint(`… and ${unread.length - MOST_UNREAD} more (table stories/rebalances).`) : null;
  return el("div", {}, el("ul", {}, lines), more);
}

// One line for the rebalances, one for each member: from its join to its sync, the time that it could not work.
function groupPicture(rebalances: Rebalance[]) {
  const everyone = rebalances.flatMap((one) => one.members || []);
  const members = [...new Map(everyone.map((member) => [memberKey(member), member])).values()].slice(0, 40);
  const height = (members.length + 1) * GROUP_LANE + 46;
  const names = members.map((member, n) => groupName(memberName(member), 46 + n * GROUP_LANE));
  const waits = rebalances.map((one) => (one.members || []).map((member) => memberWait(one, member, members)));
  const unread = rebalances.map((one) => (one.partitions || []).map((entry) => unreadBar(one, entry, members)));
  const name = `${count(rebalances.length, "rebalance")} over the time of the capture; the table below says the same`;
  return picture(
    "group",
    { width: 960, height, name },
    groupMarks(height),
    groupName("rebalances (generation below)", 17),
    rebalances.map(rebalanceBar),
    names,
    unread,
    waits,
  );
}

function rebalanceBar(one: Rebalance) {
  const x = groupX(one.start_ns ?? 0);
  const width = Math.max(3, groupX(one.end_ns ?? END) - x);
  return svg(
    "g",
    {},
    svg("rect", { class: "rebalance", x, y: 6, width, height: 12 }, svg("title", {}, words(one.trigger))),
    svg("text", { class: "small", x: x + 1, y: 29 }, `${one.generation ?? ""}`),
  );
}

// When nobody read a partition, on the lane of the member that had it next; without one, of who had it before.
function unreadBar(rebalance: Rebalance, entry: ReassignedPartition, members: Member[]) {
  const owner = entry.owner_after ?? entry.owner_before;
  const staying = (rebalance.members || []).find((one) => one.member_id === owner);
  const member = staying ?? (rebalance.departed || []).find((one) => one.member_id === owner);
  const n = member ? members.findIndex((one) => memberKey(one) === memberKey(member)) : -1;
  if (n < 0) return null;
  const x = groupX(entry.unread_from_ns ?? 0);
  const width = Math.max(1.5, groupX(entry.unread_to_ns ?? END) - x);
  return svg(
    "rect",
    { class: "unread", x, y: 39 + n * GROUP_LANE, width, height: 6 },
    svg("title", {}, rebalance.unread_text),
  );
}

// From join to assignment.
function memberWait(rebalance: Rebalance, member: Member, members: Member[]) {
  const n = members.findIndex((one) => memberKey(one) === memberKey(member));
  if (n < 0 || member.joined_ns === null) return null;
  const y = 37 + n * GROUP_LANE;
  const to = member.synced_ns ?? rebalance.end_ns ?? member.joined_ns;
  const last = joinedLast(rebalance, member);
  return svg(
    "g",
    {},
    svg("rect", {
      class: "joining",
      x: groupX(member.joined_ns),
      y,
      width: Math.max(2, groupX(to) - groupX(member.joined_ns)),
      height: 10,
    }),
    last ? svg("path", { class: "tip-last", d: `M ${groupX(member.joined_ns)} ${y - 1} l 5 6 l -5 6 z` }) : null,
  );
}

function rebalanceTable(rebalances: Rebalance[]) {
  const columns = [
    ["Generation", "num"],
    ["From", "num"],
    ["Took", "num"],
    ["Trigger"],
    ["Members", "num"],
    ["Last joiner"],
    ["Unread", "num"],
    ["Left it"],
    ["Coordinator"],
    ["Packets"],
  ];
  const rows = rebalances.map((one) => {
    const last = (one.members || []).find((member) => joinedLast(one, member));
    return [
      one.generation ?? "",
      clock(one.start_ns),
      one.duration_ms === null ? "" : span(one.duration_ms * 1000),
      [words(one.trigger), one.trigger_why ? `: ${one.trigger_why}` : ""],
      one.n_members ?? "",
      last ? memberName(last) : (one.last_joiner ?? ""),
      one.unread_ms === null ? "" : span(one.unread_ms * 1000),
      (one.departed || []).map(departedText).join("; "),
      nodeName(one.node_id),
      packetLinks((one.evidence || []).slice(0, 3)),
    ];
  });
  return table("Rebalances", columns, rows);
}
