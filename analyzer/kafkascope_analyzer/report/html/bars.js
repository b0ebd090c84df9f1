// What a row of the timeline draws: requests as bars where there is room, as density where there is not; bands; marks.

const BIN = 2;
const TROUBLE = 7;
const SHARES = new Float32Array(8 * 4096);

// canvas x of a time.
function xOf(ns, width) {
  return ((ns - VIEW.from) / (VIEW.to - VIEW.from)) * width;
}

// The places of a connection's requests that reach into the view.
function rangeOf(conn) {
  const first = REQ.firstOf[conn];
  const last = REQ.firstOf[conn + 1];
  if (first === last) return [0, 0];
  const from = lowerBound(REQ.start, VIEW.from - REQ.longest[conn], first, last);
  return [from, lowerBound(REQ.start, VIEW.to, from, last)];
}

function drawRequests(context, row, top, width) {
  const ranges = [];
  let n = 0;
  for (const conn of row.conns) {
    const [from, to] = rangeOf(conn);
    if (to > from) ranges.push([from, to]);
    n += to - from;
  }
  const box = bodyOf(row, top, width);
  if (n > Math.max(150, width / 3)) drawDensity(context, ranges, box);
  else for (const [from, to] of ranges) drawBars(context, from, to, box);
}

// Where a row has its requests: a client's lane keeps room above for episodes and below for starts.
function bodyOf(row, top, width) {
  return row.kind === "client" ? { top: top + 14, height: 20, width } : { top: top + 3, height: 14, width };
}

function drawBars(context, from, to, box) {
  const { top: y, height } = box;
  for (let i = from; i < to; i++) {
    if (!MASK[i] || REQ.end[i] < VIEW.from) continue;
    const x = xOf(REQ.start[i], box.width);
    const width = Math.max(2, xOf(REQ.end[i], box.width) - x);
    const family = FAMILY_OF_API[REQ.api[i]];
    context.fillStyle = width > 5 ? INK.patterns[family] : INK.families[family];
    context.fillRect(x, y, width, height);
    if (width > 7) outlined(context, [x, y, width, height], INK.families[family]);
    if (isTrouble(i)) drawError(context, x + (REQ.error[i] ? width : 0), y, height);
    if (i === VIEW.request) outlined(context, [x - 2, y - 2, width + 4, height + 4], INK.ink, 2);
    if (width > 60) barText(context, i, [x, y, width, height]);
  }
}

function outlined(context, [x, y, width, height], colour, line = 1) {
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
}

const TEXT_WIDTHS = new Map();

function textWidth(context, text) {
  if (!TEXT_WIDTHS.has(text)) TEXT_WIDTHS.set(text, context.measureText(text).width);
  return TEXT_WIDTHS.get(text);
}

function barText(context, i, [x, y, width, height]) {
  const left = Math.max(x, 0) + 4;
  const text = apiName(i);
  const wide = textWidth(context, text);
  if (wide + 10 > x + width - left) return;
  context.fillStyle = INK.surface;
  context.fillRect(left - 2, y + 1, wide + 4, height - 2);
  context.fillStyle = INK.ink;
  context.fillText(text, left, y + height / 2 + 0.5);
}

// An error is a triangle at the top of the lane, as tall as it is red.
function drawError(context, x, y, height) {
  context.fillStyle = INK.error;
  context.beginPath();
  context.moveTo(x - 4, y - 4);
  context.lineTo(x + 4, y - 4);
  context.lineTo(x, y + 4);
  context.fill();
  context.fillRect(x - 0.5, y, 1, height);
}

// Requests by column of BIN pixels, stacked by family; the height grows with the logarithm of their number.
function drawDensity(context, ranges, box) {
  const nBins = Math.min(4096, Math.ceil(box.width / BIN));
  SHARES.fill(0, 0, nBins * 8);
  for (const [from, to] of ranges) fillBins(from, to, nBins);
  const base = box.top + box.height;
  const tallest = box.height;
  const errors = [];
  for (let bin = 0; bin < nBins; bin++) {
    const at = bin * 8;
    let sum = 0;
    for (let family = 0; family < TROUBLE; family++) sum += SHARES[at + family];
    if (!sum) continue;
    if (SHARES[at + TROUBLE]) errors.push(bin * BIN);
    drawStack(context, at, { x: bin * BIN, base, height: Math.min(tallest, 3 + Math.log2(1 + sum) * 2.2), sum });
  }
  for (const x of errors) drawError(context, x + 1, box.top + 1, 4);
}

function fillBins(from, to, nBins) {
  const scale = nBins / (VIEW.to - VIEW.from);
  for (let i = from; i < to; i++) {
    if (!MASK[i]) continue;
    const bin = Math.floor((REQ.start[i] - VIEW.from) * scale);
    if (bin < 0 || bin >= nBins) continue;
    SHARES[bin * 8 + FAMILY_OF_API[REQ.api[i]]] += REQ.weight[i];
    if (isTrouble(i)) SHARES[bin * 8 + TROUBLE] += REQ.weight[i];
  }
}

function drawStack(context, at, { x, base, height, sum }) {
  let y = base;
  for (let family = 0; family < TROUBLE; family++) {
    const share = SHARES[at + family];
    if (!share) continue;
    const tall = Math.max(1, (share / sum) * height);
    y -= tall;
    context.fillStyle = INK.families[family];
    context.fillRect(x, y, BIN - 0.4, tall);
  }
}

// A start: hatched one way, a line along its foot. An episode: hatched the other way, a line along its top.
function drawBands(context, row, top, width) {
  const free = { start: -1, episode: -1 };
  const seen = (BANDS.get(row.number) || []).filter((band) => band.to >= VIEW.from && band.from <= VIEW.to);
  const boxes = seen.map((band) => {
    const left = Math.max(-5, xOf(band.from, width));
    const y = band.kind === "start" ? top + row.height - 10 : top + 2;
    return { y, left, wide: Math.max(2, Math.min(width + 5, xOf(band.to, width)) - left), width, free };
  });
  seen.forEach((band, n) => drawBand(context, band, boxes[n], { top, height: row.height }));
  seen.forEach((band, n) => boxes[n].wide > 24 && drawSteps(context, band, boxes[n]));
}

function drawBand(context, band, { left, wide }, { top, height }) {
  const start = band.kind === "start";
  context.fillStyle = start ? INK.starting : INK.recovery;
  context.fillRect(left, start ? top + height / 2 : top + 1, wide, height / 2 - 2);
  context.fillStyle = start ? INK.start : INK.error;
  context.fillRect(left, start ? top + height - 3 : top + 1, wide, 2);
}

// Ticks of a band's steps, with names where they have room; else what the band is.
function drawSteps(context, band, box) {
  const colour = band.kind === "start" ? INK.start : INK.error;
  const roomy = band.steps.length > 2 && box.wide > Math.max(500, band.steps.length * 70);
  context.fillStyle = colour;
  for (const [ns] of band.steps) {
    const x = xOf(ns, box.width);
    if (x >= 0 && x <= box.width) context.fillRect(x, box.y, 1, 8);
  }
  if (!roomy) return bandTitle(context, band, Math.max(0, box.left) + 4, { ...box, colour, room: box.wide - 8 });
  return band.steps.forEach(([ns, name], n) => {
    const x = xOf(ns, box.width);
    const next = n + 1 < band.steps.length ? xOf(band.steps[n + 1][0], box.width) : box.left + box.wide;
    if (x >= 0 && x <= box.width) bandText(context, name, x + 3, { ...box, colour, room: next - x - 6 });
  });
}

// The band's title, where none of an earlier band is already there.
function bandTitle(context, band, x, box) {
  if (x < box.free[band.kind]) return;
  box.free[band.kind] = x + textWidth(context, band.title) + 6;
  bandText(context, band.title, x, box);
}

function bandText(context, text, x, { y, colour, room }) {
  const wide = textWidth(context, text);
  if (wide > room) return;
  context.fillStyle = INK.stripe;
  context.fillRect(x - 1, y, wide + 2, 10);
  context.fillStyle = colour;
  context.fillText(text, x, y + 5.5);
}

const BANDS = new Map();

function prepareBands() {
  const add = (identity, band) => {
    const number = clientPlace(identity);
    if (number < 0) return;
    if (!BANDS.has(number)) BANDS.set(number, []);
    BANDS.get(number).push(band);
  };
  for (const start of STORY.starts.listed) {
    const last = start.steps.reduce((end, step) => Math.max(end, step.end_ns ?? 0), start.start_ns);
    const steps = start.steps.filter((step) => step.on_critical_path).map((step) => [step.start_ns, words(step.step)]);
    add(
      start.client_instance_id,
      {
        kind: "start",
        from: start.start_ns,
        to: start.ready_ns ?? last,
        steps,
        told: start,
        title: `start ${span(start.total_us) || start.outcome_text}`,
      },
    );
  }
  for (const told of longestOfCauses()) {
    const steps = told.steps.filter((step) => step.ts_ns !== null).map((step) => [step.ts_ns, words(step.step)]);
    const took = told.recovered_ns === null ? told.outcome_text : span((told.recovered_ns - told.since_ns) / 1000);
    add(
      told.client_instance_id,
      {
        kind: "episode",
        from: told.since_ns,
        to: told.recovered_ns ?? END,
        steps,
        told,
        title: `${told.first_error_name} ${took}`,
      },
    );
  }
}

// Of each client's episodes of one cause the one that lasted longest.
function longestOfCauses() {
  const lasted = (told) => (told.recovered_ns ?? END) - told.since_ns;
  const found = new Map();
  for (const told of STORY.episodes.listed) {
    const key = `${told.client_instance_id} ${told.cause_id || told.recovery_id}`;
    const known = found.get(key);
    if (!known || lasted(told) > lasted(known)) found.set(key, told);
  }
  return [...found.values()];
}

// Ends of connections: how they are drawn says who ended them and how.
function drawEnds(context, row, top, width) {
  const body = bodyOf(row, top, width);
  const middle = body.top + body.height / 2;
  for (const number of row.conns) {
    const conn = STORY.lanes.connections[number];
    if (row.kind === "conn") drawLife(context, conn, middle, width);
    const at = conn.close_ns ?? (["refused", "unanswered"].includes(conn.close_kind) ? conn.last_ns : null);
    if (at === null || at < VIEW.from || at > VIEW.to || conn.close_kind === "open") continue;
    if (row.kind === "conn" || conn.close_kind !== "fin_client") drawEnd(
      context,
      conn.close_kind,
      xOf(at, width),
      middle,
    );
  }
}

function drawLife(context, conn, middle, width) {
  const from = Math.max(0, xOf(conn.first_ns, width));
  const to = Math.min(width, xOf(conn.last_ns, width));
  if (to <= from) return;
  context.fillStyle = INK.line;
  context.fillRect(from, middle - 0.5, to - from, 1);
}

function drawEnd(context, kind, x, middle) {
  const bad = kind !== "fin_client" && kind !== "fin_server";
  context.strokeStyle = bad ? INK.error : INK.muted;
  context.lineWidth = 1.6;
  context.beginPath();
  if (bad) {
    context.moveTo(x - 4, middle - 4);
    context.lineTo(x + 4, middle + 4);
    context.moveTo(x + 4, middle - 4);
    context.lineTo(x - 4, middle + 4);
  } else {
    const side = kind === "fin_server" ? 3 : -3;
    context.moveTo(x + side, middle - 5);
    context.lineTo(x, middle - 5);
    context.lineTo(x, middle + 5);
    context.lineTo(x + side, middle + 5);
  }
  context.stroke();
}
