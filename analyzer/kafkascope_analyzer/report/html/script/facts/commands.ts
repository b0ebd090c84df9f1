// Commands that the page prints, with what a shell would read otherwise quoted.

import { STORY } from "./data.ts";

export function quoted(name: string) {
  return /^[\w.:/@%+=,-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

export function cutCommand(option: string, value: string, file: string) {
  return `kafkascope cut ${quoted(STORY.capture.dataset)} ${option} ${quoted(String(value))} -o ${quoted(`${file}.pcapng`)}`;
}
