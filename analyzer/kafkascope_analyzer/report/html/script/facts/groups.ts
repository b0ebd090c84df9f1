// Members of groups: what identifies each, its name, and how it left.

import { clientPlace, STORY } from "./data.ts";
import { span, words } from "./figures.ts";
import type { DepartedMember, Member, Rebalance } from "./story.d.ts";

export function memberKey(member: Member | DepartedMember) {
  return member.client_instance_id || member.member_id;
}

export function memberName(member: { client_instance_id: string | null; member_id?: string | null }) {
  const place = clientPlace(member.client_instance_id ?? "");
  return place >= 0 ? STORY.lanes.clients[place].name : member.member_id || "?";
}

// Whether the rebalance names this member as the one that joined last.
export function joinedLast({ last_joiner }: Rebalance, { member_id, client_instance_id }: Member) {
  return Boolean(last_joiner) && (last_joiner === member_id || last_joiner === client_instance_id);
}

export function departedText(one: DepartedMember) {
  return `${one.client_id || memberName(one)} ${words(one.how)}${one.silent_ms ? ` after ${span(one.silent_ms * 1000)} of silence` : ""}`;
}
