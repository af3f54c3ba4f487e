// Draws the block pyramids of an atlas: one canvas for the map, one for the overview. Nothing is fetched.
const data = JSON.parse(document.getElementById("atlas-data").textContent);
const { words, tokens, passages, sentences, layers, answer_start: answerStart } = data;
const n = tokens.length;
const byId = (id) => document.getElementById(id);
const map = byId("map"), mini = byId("mini"), readout = byId("readout");
const BAND = 10;
const hues = passages.map((_, i) => (i * 137.5 + 30) % 360);
const owner = new Int32Array(n).fill(-1);
passages.forEach((passage, i) => passage.runs.forEach(([a, b]) => owner.fill(i, a, b)));
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, key) => String(values[key]));

async function bytes(id) {
  const text = atob(byId(id).textContent.trim());
  const packed = Uint8Array.from(text, (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// the square root of a value is stored in 16 bits, as a share of the largest of its head
function decoded(buffer, tops, side) {
  const coded = new Uint16Array(buffer);
  const values = new Float32Array(coded.length);
  for (let h = 0, at = 0; h < tops.length; h++) {
    for (let i = 0; i < side * side; i++, at++) values[at] = (coded[at] / 65535) ** 2 * tops[h];
  }
  return values;
}

function halved(level, side, heads, largest) {
  const next = Math.ceil(side / 2), out = new Float32Array(heads * next * next);
  for (let h = 0; h < heads; h++) {
    for (let r = 0; r < side; r++) {
      for (let c = 0; c < side; c++) {
        const to = (h * next + (r >> 1)) * next + (c >> 1), value = level[(h * side + r) * side + c];
        out[to] = largest ? Math.max(out[to], value) : out[to] + value;
      }
    }
  }
  return out;
}

const state = { layer: 0, head: -1, kind: "max", top: 0, left: 0, size: n, hits: [] };
const pyramids = [];

async function pyramid(number) {
  if (pyramids[number]) return pyramids[number];
  const { heads, block, side, tops } = layers[number];
  const built = { heads, block, levels: [] };
  let sum = decoded(await bytes(`sum-${number}`), tops.sum, side);
  let max = decoded(await bytes(`max-${number}`), tops.max, side);
  // one more "head" in front: the mean of all for sums, the largest for maxima
  const area = side * side, sums = new Float32Array((heads + 1) * area), maxima = new Float32Array((heads + 1) * area);
  sums.set(sum, area);
  maxima.set(max, area);
  for (let h = 0; h < heads; h++) {
    for (let i = 0; i < area; i++) {
      sums[i] += sum[h * area + i] / heads;
      maxima[i] = Math.max(maxima[i], max[h * area + i]);
    }
  }
  sum = sums;
  max = maxima;
  for (let s = side, size = block; ; s = Math.ceil(s / 2), size *= 2) {
    built.levels.push({ side: s, size, sum, max });
    if (s <= 16) break;
    [sum, max] = [halved(sum, s, heads + 1, false), halved(max, s, heads + 1, true)];
  }
  pyramids[number] = built;
  return built;
}

function value(level, row, column) {
  const { side, size } = level, at = ((state.head + 1) * side + row) * side + column;
  if (state.kind === "max") return level.max[at];
  return level.sum[at] / Math.min(size, n - row * size); // mean mass of a row
}

const dark = matchMedia("(prefers-color-scheme: dark)");
function shades() {
  const from = dark.matches ? [20, 22, 26] : [255, 255, 255], to = dark.matches ? [220, 180, 255] : [76, 29, 120];
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const [r, g, b] = from.map((v, k) => Math.round(v + ((to[k] - v) * i) / 255));
    return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  });
}

function image(context, level, box, width) {
  const picture = context.createImageData(width, width), pixels = new Uint32Array(picture.data.buffer);
  const { side, size } = level, palette = shades(), line = new Uint32Array(width);
  const cell = (from, i) => Math.min(side - 1, Math.floor((from + ((i + 0.5) / width) * box.size) / size));
  const columns = Int32Array.from({ length: width }, (_, x) => cell(box.left, x));
  for (let y = 0, before = -1; y < width; y++) {
    const row = cell(box.top, y);
    if (row !== before) {
      for (let x = 0; x < width; x++) {
        line[x] = palette[Math.round(255 * Math.sqrt(Math.min(1, value(level, row, columns[x]))))];
      }
    }
    before = row;
    pixels.set(line, y * width);
  }
  return picture;
}

function bands(context, box, width, offset) {
  for (let i = 0; i < width; i++) {
    const at = Math.floor(box.left + (i / width) * box.size), down = Math.floor(box.top + (i / width) * box.size);
    for (const [place, x, y, w, h] of [[at, offset + i, 0, 1, BAND - 2], [down, 0, offset + i, BAND - 2, 1]]) {
      if (place < 0 || place >= n) continue;
      const own = owner[place];
      if (own >= 0) context.fillStyle = `hsl(${hues[own]} 65% 50%)`;
      else if (place >= answerStart) context.fillStyle = dark.matches ? "#ddd" : "#333";
      else continue;
      context.fillRect(x, y, w, h);
    }
  }
}

let drawn = null;
let edge = 0; // the answer of canvas.getBoundingClientRect costs a layout: hover does not ask for it
async function draw() {
  const built = await pyramid(state.layer);
  const ratio = Math.min(2, devicePixelRatio || 1);
  const css = Math.floor(Math.min(byId("stage").clientWidth, 640)), width = Math.floor((css - BAND) * ratio);
  map.width = map.height = width + BAND;
  map.style.width = map.style.height = `${css}px`;
  edge = css;
  const cells = state.size / built.block;
  const number = Math.max(0, Math.min(built.levels.length - 1, Math.floor(Math.log2(cells / 192)) + 1));
  const level = built.levels[cells <= 192 ? 0 : number];
  const context = map.getContext("2d"), box = { top: state.top, left: state.left, size: state.size };
  context.putImageData(image(context, level, box, width), BAND, BAND);
  bands(context, box, width, BAND);
  context.strokeStyle = "#0072b2";
  for (const hit of state.hits) {
    const x = BAND + ((hit + 0.5 - box.left) / box.size) * width, y = BAND + ((hit + 0.5 - box.top) / box.size) * width;
    if (x >= BAND) context.strokeRect(x, BAND - 2, 0.5, width);
    if (y >= BAND) context.strokeRect(BAND - 2, y, width, 0.5);
  }
  drawn = { level };
  const small = mini.getContext("2d"), whole = { top: 0, left: 0, size: n }, coarse = built.levels.at(-1);
  mini.width = mini.height = 128;
  small.putImageData(image(small, coarse, whole, 128), 0, 0);
  small.strokeStyle = "#0072b2";
  small.lineWidth = 2;
  small.strokeRect((state.left / n) * 128, (state.top / n) * 128, (state.size / n) * 128, (state.size / n) * 128);
}

let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    draw();
  });
}

function view(top, left, size) {
  state.size = Math.max(Math.min(n, 16), Math.min(n, size));
  state.top = Math.max(0, Math.min(n - state.size, top));
  state.left = Math.max(0, Math.min(n - state.size, left));
  redraw();
}

function position(event) {
  const scale = edge - (BAND * edge) / map.width, pad = edge - scale;
  return [state.top + ((event.offsetY - pad) / scale) * state.size, state.left + ((event.offsetX - pad) / scale) * state.size];
}

function place(from, size) {
  const stop = Math.min(n, from + size), own = owner[from];
  const text = tokens.slice(from, Math.min(stop, from + 24)).join("").replace(/\s+/g, " ").trim().slice(0, 60);
  const where = own >= 0 ? fill(words.passage, { n: own + 1 }) : from >= answerStart ? words.answer : words.elsewhere;
  return `${from}–${stop - 1} (${where}) “${text}”`;
}

function hover(event) {
  if (!drawn) return;
  const [down, across] = position(event), { level } = drawn;
  const row = Math.floor(down / level.size), column = Math.floor(across / level.size);
  if (row < 0 || column < 0 || row >= level.side || column >= level.side) return;
  const at = ((state.head + 1) * level.side + row) * level.side + column;
  const rows = Math.min(level.size, n - row * level.size);
  readout.textContent = fill(words.readout, {
    rows: place(row * level.size, level.size),
    columns: place(column * level.size, level.size),
    mass: (level.sum[at] / rows).toFixed(4),
    max: level.max[at].toFixed(4),
  });
}

let held = null;
map.addEventListener("pointerdown", (event) => {
  held = { x: event.offsetX, y: event.offsetY, top: state.top, left: state.left };
  map.setPointerCapture(event.pointerId);
});
map.addEventListener("pointerup", () => (held = null));
map.addEventListener("pointermove", (event) => {
  if (held) view(held.top - ((event.offsetY - held.y) / edge) * state.size, held.left - ((event.offsetX - held.x) / edge) * state.size, state.size);
  else hover(event);
});
function zoom(factor, down = state.top + state.size / 2, across = state.left + state.size / 2) {
  const size = Math.max(Math.min(n, 16), Math.min(n, state.size * factor)), share = size / state.size;
  view(down - (down - state.top) * share, across - (across - state.left) * share, size);
}
map.addEventListener("wheel", (event) => {
  event.preventDefault();
  zoom(event.deltaY > 0 ? 1.25 : 0.8, ...position(event));
}, { passive: false });
map.addEventListener("dblclick", (event) => zoom(0.5, ...position(event)));
map.addEventListener("keydown", (event) => {
  const step = state.size / 8;
  const moves = { ArrowUp: [-step, 0], ArrowDown: [step, 0], ArrowLeft: [0, -step], ArrowRight: [0, step] };
  if (event.key in moves) view(state.top + moves[event.key][0], state.left + moves[event.key][1], state.size);
  else if (event.key === "+") zoom(0.8);
  else if (event.key === "-") zoom(1.25);
  else return;
  event.preventDefault();
});
mini.addEventListener("pointerdown", (event) => {
  view((event.offsetY / 128) * n - state.size / 2, (event.offsetX / 128) * n - state.size / 2, state.size);
});
byId("closer").addEventListener("click", () => zoom(0.5));
byId("farther").addEventListener("click", () => zoom(2));
byId("everything").addEventListener("click", () => view(0, 0, n));

function heads() {
  const chooser = byId("head");
  chooser.replaceChildren(new Option(words.all_heads, "-1"));
  for (let h = 0; h < layers[state.layer].heads; h++) chooser.add(new Option(String(h), String(h)));
  chooser.value = String(state.head);
}
layers.forEach((layer, i) => byId("layer").add(new Option(String(layer.layer), String(i))));
byId("layer").addEventListener("change", (event) => {
  state.layer = Number(event.target.value);
  heads();
  redraw();
});
byId("head").addEventListener("change", (event) => {
  state.head = Number(event.target.value);
  redraw();
});
byId("kind").addEventListener("change", (event) => {
  state.kind = event.target.value;
  redraw();
});

const starts = new Int32Array(n + 1);
tokens.forEach((token, i) => (starts[i + 1] = starts[i] + token.length));
const text = tokens.join("").toLowerCase();
function token(character) {
  let low = 0, high = n - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= character) low = middle;
    else high = middle - 1;
  }
  return low;
}
byId("search").addEventListener("input", (event) => {
  const wanted = event.target.value.toLowerCase();
  state.hits = [];
  for (let at = wanted ? text.indexOf(wanted) : -1; at >= 0 && state.hits.length < 500; at = text.indexOf(wanted, at + 1)) {
    state.hits.push(token(at + wanted.length - wanted.trimStart().length));
  }
  byId("hits").textContent = wanted ? fill(words.hits, { n: state.hits.length }) : "";
  redraw();
});
byId("search").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !state.hits.length) return;
  const next = state.hits.find((hit) => hit > state.left + state.size / 2 + 1) ?? state.hits[0];
  const size = Math.min(state.size, Math.max(64, n / 4));
  view(n - size, next - size / 2, size);
});
for (const cell of document.querySelectorAll("[data-sentence]")) {
  cell.addEventListener("click", () => {
    const sentence = sentences[Number(cell.dataset.sentence)], [a, b] = passages[Number(cell.dataset.passage)].runs[0];
    const size = Math.max(64, 2 * (sentence.stop - sentence.start), 2 * (b - a));
    view((sentence.start + sentence.stop) / 2 - size / 2, (a + b) / 2 - size / 2, size);
    map.scrollIntoView({ block: "nearest" });
  });
}
addEventListener("resize", redraw);
dark.addEventListener("change", redraw);
heads();
draw();
globalThis.regardAtlas = { hover, draw }; // for measurements
