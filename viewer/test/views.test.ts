/** The arithmetic of views: which lines are drawn, zoom and tiles, rollout. */

import { chosen } from "../src/head/lines.ts";
import type { Marks } from "../src/marks/marks.ts";
import { svgMarks } from "../src/marks/svg.ts";
import { initial } from "../src/pictures.ts";
import { newState, plain, type State, type Values } from "../src/state.ts";
import { type Context, ownVerdict, type Scene } from "../src/view.ts";
import flow from "../src/views/flow.tsx";
import head from "../src/views/head_view.tsx";
import heat from "../src/views/heat_map.tsx";
import tokens from "../src/views/token_text.tsx";
import { equal, near, ok, test } from "./harness.ts";
import { dataOf, type Sample, sample, sceneOf, softmaxed, text, tiled } from "./sample.ts";

function contextOf(given: Sample, state: State, data = dataOf(given)): Context {
  const scene: Scene = { ...sceneOf(given, {}, data), values: plain(state) };
  return { ...scene, state, live: null, open: async () => {}, refresh: () => {} };
}

/** Opacities of the lines that the head view draws, the strongest first. */
function lines(scene: Scene): number[] {
  const { marks } = svgMarks();
  const found: number[] = [];
  head.draw({ ...marks, line: (_a, _b, _c, _d, shape) => void found.push(shape.alpha ?? 1) }, scene);
  return found.sort((a, b) => b - a);
}

test("what is left out of a picture is declared on it", () => {
  ok(!head.declared(sceneOf(text())).includes("hidden"), "nothing");
  ok(head.declared(sceneOf(text(), { threshold: 0.2 })).includes("weights up to 0.200 hidden"), "hidden");
  ok(head.declared(sceneOf(text(), { hideSpecial: true })).includes("special tokens hidden"), "hidden");
  ok(heat.declared(sceneOf(text(), { pool: "max", layers: "mean" })).includes("max over 2 heads"), "pooled");
  const words = tokens.declared(sceneOf(text(), { hideSpecial: true, methods: [0] }));
  ok(words.includes("special tokens hidden"), words);
});

test("the verdict of one model does not stand beside another", () => {
  const given = text();
  const verdict = { reading: "r", headline: "h", sentence: "s", attention: "a", n: 1 };
  const scene = sceneOf(given);
  const beside = (model: string): boolean =>
    ownVerdict({
      ...scene,
      manifest: { ...scene.manifest, model: "minilm", verdict },
      example: { ...scene.example, model },
    }) !== null;
  equal(["minilm", "minilm, attention edited", "", "minilm:epochs=1", "bilstm"].map(beside), [
    true,
    true,
    true,
    false,
    false,
  ]);
});

test("all lines are drawn while they are few", () => {
  equal(lines(sceneOf(text())).length, 50);
  equal(lines(sceneOf(text(), { off: [1] })).length, 25);
  equal(lines(sceneOf(text(), { off: [0, 1] })).length, 0);
});

test("no line below the threshold is drawn or listed", () => {
  const scene = sceneOf(text(), { threshold: 0.2 });
  const all = [0, 1].flatMap((h) => Array.from(scene.data.head(0, 1, h)!.values));
  const wanted = all.filter((w) => w > 0.2).length;
  ok(wanted > 2 && wanted < 40, `${wanted} weights`);
  equal(lines(scene).length, wanted);
  const table = head.table(scene)!;
  equal(table.rows.length, wanted);
  ok(
    table.rows.every((r) => (r[3] as number) > 0.2),
    "the table has the same threshold",
  );
  equal(lines(sceneOf(text(), { threshold: 1 })).length, 0);
});

test("of many lines the heaviest are drawn, at most 600, and the words say how many", () => {
  const names = Array.from({ length: 60 }, (_, i) => `t${i}`);
  const scene = sceneOf(sample(names, [softmaxed(1, 60, 8)]), { threshold: 0 });
  const drawn = lines(scene);
  ok(drawn.length > 300 && drawn.length <= 600, `${drawn.length} lines`);
  const grid = scene.data.head(0, 0, 0)!;
  const sorted = Array.from(grid.values, (w) => Math.max(0.04, w / grid.top)).sort((a, b) => b - a);
  drawn.forEach((alpha, i) => {
    near(alpha, sorted[i]!, 1e-6, `line ${i}`);
  });
  const total = grid.values.filter((w) => w > 0).length;
  ok(head.declared(scene).includes(`${drawn.length} of ${total} lines drawn, the heaviest`), head.declared(scene));
});

test("the threshold is chosen so that about sixty lines remain, the heaviest", () => {
  const names = Array.from({ length: 60 }, (_, i) => `t${i}`);
  const scene = sceneOf(sample(names, [softmaxed(3, 60, 8)]));
  const drawn = lines(scene);
  ok(drawn.length > 30 && drawn.length <= 60, `${drawn.length} lines`);
  // a flat map has no heaviest lines, and is drawn all the same
  const flat = Array.from({ length: 60 }, () => Array.from({ length: 60 }, () => 1 / 60));
  equal(lines(sceneOf(sample(names, [[flat]]))).length, 60);
});

test("what is pointed at shows its own lines, and the others behind them", () => {
  const names = Array.from({ length: 60 }, (_, i) => `t${i}`);
  const given = sample(names, [softmaxed(1, 60, 8)]);
  const own = (scene: Scene): number => chosen(scene, scene.example.sites[0]!).links.length;
  const all = sceneOf(given, { hover: { query: 7 }, threshold: 0 });
  const row = all.data.head(0, 0, 0)!.values.subarray(7 * 60, 8 * 60);
  equal(own(all), row.filter((w) => w > 0).length);
  const calm = sceneOf(given, { hover: { query: 7 } });
  const { links, faint } = chosen(calm, calm.example.sites[0]!);
  ok(links.length > 20 && links.length <= 40, `${links.length} of its own`);
  ok(faint.length > 0 && links.length + faint.length <= 60, `${faint.length} behind`);
  ok(links.every((l) => l.query === 7) && faint.every((l) => l.query !== 7), "told apart");
  ok(head.declared(calm).includes("in focus: t7, the others faint"), head.declared(calm));
});

test("a head view opens on the row that the answer reads, else the last of a writer, else the first word", () => {
  const given = text();
  const first = (): unknown => head.start!(sceneOf(given)).locked;
  equal(first(), { query: 1 });
  for (const at of given.manifest.examples[0]!.sites) at.kind = "causal";
  equal(first(), { query: 4 });
  for (const at of given.manifest.examples[0]!.sites) at.reading = [0];
  equal(first(), { query: 0 });
});

function zoomable(given: Sample = text()): { state: State; c: () => Context } {
  const state = newState(initial(given.manifest, 0));
  const data = dataOf(given);
  return { state, c: () => contextOf(given, state, data) };
}

test("zoom keeps the place under the pointer where it is", () => {
  const { state, c } = zoomable();
  const at = (x: number, y: number) => heat.draw(svgMarks().marks, c()).hit!(x, y);
  const [x, y] = [200, 140];
  const before = at(x, y);
  ok(before?.key !== undefined && before.key > 0, JSON.stringify(before));
  for (let i = 0; i < 6; i++) {
    heat.wheel!(x, y, 1, c());
    equal(at(x, y), before, `after ${i + 1} turns`);
  }
  near(state.zoom.value.scale, 1.25 ** 6, 1e-9, "scale");
});

test("zoom and pan stay inside the map", () => {
  const { state, c } = zoomable();
  for (let i = 0; i < 60; i++) heat.wheel!(160, 120, 1, c());
  equal(state.zoom.value.scale, 256);
  for (const [dx, dy] of [
    [-1e6, -1e6],
    [1e6, 1e6],
    [-1e6, 1e6],
  ] as const) {
    heat.pan!(dx, dy, c());
    const { x, y, scale } = state.zoom.value;
    ok(x >= 0 && y >= 0 && x <= 1 - 1 / scale && y <= 1 - 1 / scale, JSON.stringify(state.zoom.value));
  }
  for (let i = 0; i < 80; i++) heat.key!("-", c());
  equal(state.zoom.value, { x: 0, y: 0, scale: 1 });
});

test("arrow keys walk over the map and stop at its edge", () => {
  const { state, c } = zoomable();
  heat.key!("ArrowRight", c());
  equal(state.hover.value, { query: 0, key: 0 });
  for (let i = 0; i < 9; i++) heat.key!("ArrowRight", c());
  heat.key!("ArrowDown", c());
  equal(state.hover.value, { query: 1, key: 4 });
  heat.key!("Enter", c());
  equal(state.locked.value, { query: 1, key: 4 });
  equal(heat.key!("q", c()), false, "a key of nobody");
});

/** Rasters that a heat map draws: x, y, width, height, rows, columns; and the chunks that it asks for. */
function tilesOf(values: Partial<Values>, width = 800): { boxes: number[][]; asked: string[] } {
  const given = tiled();
  const asked: string[] = [];
  const data = dataOf({
    manifest: given.manifest,
    chunks: new Proxy(given.chunks, {
      get(all, id: string) {
        asked.push(id);
        return all[id];
      },
    }),
  });
  const scene = { ...sceneOf(given, values, data), width };
  const boxes: number[][] = [];
  const { marks } = svgMarks();
  const raster: Marks["raster"] = (x, y, w, h, r) => void boxes.push([x, y, w, h, r.rows, r.columns]);
  scene.data.tile = ((tile) => (e: number, s: number, h: number, l: number, r: number, c: number) => {
    asked.push(`tile ${l}/${r}/${c}`);
    return tile.call(data, e, s, h, l, r, c);
  })(data.tile);
  data.head = () => null; // the whole grid is nobody's business here
  heat.draw({ ...marks, raster }, scene);
  return { boxes: boxes.filter((b) => b[2] !== 120), asked: asked.filter((a) => a.startsWith("tile ")) };
}

test("tiles lie edge to edge and cover the map", () => {
  const { boxes, asked } = tilesOf({});
  equal(asked.length, boxes.length);
  const cells = boxes.reduce((sum, b) => sum + b[4]! * b[5]!, 0);
  const level = Number(asked[0]![5]);
  const [rows, columns] = dataOf(tiled()).levelSize(0, 0, level);
  equal(cells, rows * columns);
  const [w, h] = [boxes[0]![2]! / boxes[0]![5]!, boxes[0]![3]! / boxes[0]![4]!];
  for (const [x, y, wide, tall, r, c] of boxes as [number, number, number, number, number, number][]) {
    near(wide, w * c, 1e-6, "width of a cell");
    near(tall, h * r, 1e-6, "height of a cell");
    near(((x - boxes[0]![0]!) / w) % 256, 0, 1e-6, "column of a tile");
    near(((y - boxes[0]![1]!) / h) % 256, 0, 1e-6, "row of a tile");
  }
});

test("tiles are as fine as the screen, not finer", () => {
  const levels = (width: number): string[] => [...new Set(tilesOf({}, width).asked.map((a) => a[5]!))];
  equal([800, 300, 200].map(levels), [["0"], ["1"], ["2"]]); // 1.5, 0.49 and 0.3 pixels a cell
});

test("a zoomed map asks only for the finest tiles in view", () => {
  equal(tilesOf({ zoom: { x: 0, y: 0, scale: 16 } }).asked, ["tile 0/0/0"]);
  equal(tilesOf({ zoom: { x: 1 - 1 / 128, y: 1 - 1 / 128, scale: 128 } }).asked, ["tile 0/1/2"]);
});

const shares = (scene: Scene): Map<string, number> =>
  new Map(flow.table(scene)!.rows.map((r) => [r[0] as string, r[2] as number]));

test("rollout on paper: half of each layer is residual", () => {
  const low = [
    [
      [1, 0, 0],
      [0, 1, 0],
      [1, 0, 0],
    ],
  ];
  const high = [
    [
      [1, 0, 0],
      [0, 1, 0],
      [0, 1, 0],
    ],
  ];
  const given = sample(["a", "b", "c"], [low, high]);
  // c = 1/2 c + 1/2 b above; c = 1/2 c + 1/2 a and b = b below
  equal(Object.fromEntries(shares(sceneOf(given, { from: 2 }))), { b: 0.5, a: 0.25, c: 0.25 });
  equal(shares(sceneOf(given, { from: 2, residual: 0 })).get("b"), 1);
  equal(Object.fromEntries(shares(sceneOf(given, { from: 0 }))), { a: 1, b: 0, c: 0 });
});

test("rollout is the product of the layers, and shares sum to one", () => {
  const given = sample(["a", "b", "c", "d"], [softmaxed(2, 4, 21), softmaxed(2, 4, 22), softmaxed(2, 4, 23)]);
  const scene = sceneOf(given, { from: 1, residual: 0.3 });
  let row = [0, 1, 0, 0];
  for (const layer of [2, 1, 0]) {
    const a = scene.data.pooled(0, layer, [0, 1], "mean")!.values;
    const sums = [0, 1, 2, 3].map((q) => a.slice(q * 4, q * 4 + 4).reduce((x, y) => x + y, 0));
    row = [0, 1, 2, 3].map((k) =>
      row.reduce((sum, v, q) => sum + v * ((0.7 * a[q * 4 + k]!) / sums[q]! + (q === k ? 0.3 : 0)), 0),
    );
  }
  const found = shares(scene);
  ["a", "b", "c", "d"].forEach((name, i) => {
    near(found.get(name)!, row[i]!, 2e-6, name);
  });
  near(
    [...found.values()].reduce((a, b) => a + b, 0),
    1,
    4e-6,
    "sum",
  );
});

test("rollout is not offered where no layer passes its input on", () => {
  const given = sample(["a", "b"], [[[[0.5, 0.5]]]]);
  given.manifest.examples[0]!.sites[0]!.kind = "pooling";
  ok(flow.needs(given.manifest, given.manifest.examples[0]!, false) !== null, "one pooling is no flow");
  equal(flow.needs(text().manifest, text().manifest.examples[0]!, false), null);
});
