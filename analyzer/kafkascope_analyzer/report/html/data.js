// The data of the page: what the stories tell (STORY) and the requests as typed arrays (REQ).

let STORY = null;
let REQ = null;
const NO_TIME = 4294967295;
const ORPHANS = 2147483648;
const STATUSES = ["ok", "no response expected", "unanswered", "orphan response", "undecoded", "not captured", "unknown"];
const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f64: Float64Array };

async function inflated(id) {
  const node = document.getElementById(id);
  const text = node.textContent;
  node.remove();
  const raw = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

async function loadData() {
  const [story, columns] = await Promise.all([inflated("data-story"), inflated("data-columns")]);
  STORY = JSON.parse(new TextDecoder().decode(story));
  REQ = requestsOf(columnsOf(columns));
}

function columnsOf(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  const columns = {};
  for (const [name, kind, length, at] of header) columns[name] = new ARRAYS[kind](buffer, 4 + size + at, length);
  return columns;
}

// Differences modulo 2**32 back to values; a Uint32Array wraps as the writer did.
function summed(steps) {
  const values = new Uint32Array(steps.length);
  let value = 0;
  for (let i = 0; i < steps.length; i++) values[i] = value = (value + steps[i]) >>> 0;
  return values;
}

function requestsOf(columns) {
  const made = { ...columns, n: columns.d_ts.length };
  for (const name of ["conn", "number", "correlation", "packet"]) made[name] = summed(columns[`d_${name}`]);
  const ticks = summed(columns.d_ts);
  const unit = STORY.requests.unit;
  made.start = Float64Array.from(ticks, (tick) => tick * unit);
  made.end = new Float64Array(made.n);
  for (let i = 0; i < made.n; i++) made.end[i] = made.start[i] + (made.took[i] === NO_TIME ? 0 : made.took[i] * 1000);
  addPlaces(made);
  return made;
}

// firstOf[c] .. firstOf[c + 1]: the requests of connection c; longest[c]: its longest request, ns;
// namedFrom[i] .. namedFrom[i + 1]: the topic-partitions of request i.
function addPlaces(made) {
  const nConns = STORY.lanes.connections.length;
  made.firstOf = new Uint32Array(nConns + 1);
  made.longest = new Float64Array(nConns);
  made.namedFrom = new Uint32Array(made.n + 1);
  for (let i = 0; i < made.n; i++) {
    const conn = made.conn[i];
    made.firstOf[conn + 1] = i + 1;
    made.longest[conn] = Math.max(made.longest[conn], made.end[i] - made.start[i]);
    made.namedFrom[i + 1] = made.namedFrom[i] + made.n_named[i];
  }
  for (let c = 0; c < nConns; c++) made.firstOf[c + 1] = Math.max(made.firstOf[c + 1], made.firstOf[c]);
}

// First place in values[from .. to) that is not below `least`.
function lowerBound(values, least, from, to) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle] < least) from = middle + 1;
    else to = middle;
  }
  return from;
}

function requestId(i) {
  const number = REQ.number[i];
  const tail = number >= ORPHANS ? `r${number - ORPHANS}` : String(number);
  return `${STORY.lanes.connections[REQ.conn[i]].conn_id}-${tail}`;
}

// The kept request with this id, -1 where there is none.
function findRequest(id) {
  const at = id.lastIndexOf("-");
  const conn = connectionPlace(id.slice(0, at));
  if (conn < 0) return -1;
  const tail = id.slice(at + 1);
  const number = tail.startsWith("r") ? ORPHANS + Number(tail.slice(1)) : Number(tail);
  for (let i = REQ.firstOf[conn]; i < REQ.firstOf[conn + 1]; i++) if (REQ.number[i] === number) return i;
  return -1;
}

const CONNECTION_PLACES = new Map();

function connectionPlace(connId) {
  if (!CONNECTION_PLACES.size) STORY.lanes.connections.forEach((conn, n) => CONNECTION_PLACES.set(conn.conn_id, n));
  return CONNECTION_PLACES.get(connId) ?? -1;
}

const CLIENT_PLACES = new Map();

function clientPlace(identity) {
  if (!CLIENT_PLACES.size) STORY.lanes.clients.forEach(
    (client, n) => CLIENT_PLACES.set(client.client_instance_id, n),
  );
  return CLIENT_PLACES.get(identity) ?? -1;
}

function apiName(i) {
  return STORY.requests.apis[REQ.api[i]];
}

function packetsOf(i) {
  const asked = REQ.packet[i];
  const answered = (asked + REQ.d_response[i]) >>> 0;
  return [asked, answered].filter((packet) => packet > 0);
}

function responsePacket(i) {
  return (REQ.packet[i] + REQ.d_response[i]) >>> 0;
}

// topic-partitions that the request names, as far as the page has them.
function namedBy(i) {
  const named = [];
  for (let k = REQ.namedFrom[i]; k < REQ.namedFrom[i + 1]; k++) {
    named.push({
      topic: STORY.requests.topics[REQ.topic[k]],
      partition: REQ.partition[k],
      offset: REQ.offset[k],
      error: STORY.requests.errors[REQ.partition_error[k]],
    });
  }
  return named;
}

function captureName() {
  return STORY.capture.dataset;
}

function quoted(name) {
  return /^[\w.:/@%+=,-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

function cutCommand(option, value, file) {
  return `kafkascope cut ${quoted(captureName())} ${option} ${quoted(String(value))} -o ${quoted(`${file}.pcapng`)}`;
}
