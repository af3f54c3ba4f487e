/** Colours and marks: what a canvas and an SVG make of the same calls, and what an SVG lets through. */

import { renderSvg, viewNames } from "../src/hosts/svg.ts";
import { amountRaster, signRaster } from "../src/map.ts";
import { canvasMarks } from "../src/marks/canvas.ts";
import { fitted, type Marks, type Rgb, wrapped } from "../src/marks/marks.ts";
import { escaped, svgMarks } from "../src/marks/svg.ts";
import { DARK, LIGHT, luminance, series } from "../src/palette.ts";
import { ordered } from "../src/pictures.ts";
import { equal, near, ok, test } from "./harness.ts";
import { sceneOf, text } from "./sample.ts";

const parsed = (hex: string): Rgb => [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16)) as unknown as Rgb;

/** What a person without one kind of cones sees (Viénot, Brettel and Mollon 1999), as linear light. */
function seen(colour: Rgb, missing: "red" | "green"): number[] {
  const [r, g, b] = colour.map((v) => (v / 255) ** 2.2) as [number, number, number];
  return missing === "red"
    ? [0.11238 * r + 0.88762 * g, 0.11238 * r + 0.88762 * g, 0.00401 * r - 0.00401 * g + b]
    : [0.29275 * r + 0.70725 * g, 0.29275 * r + 0.70725 * g, -0.02234 * r + 0.02234 * g + b];
}

for (const theme of [LIGHT, DARK]) {
  const name = theme.dark ? "dark" : "light";

  test(`more weight is always more contrast (${name})`, () => {
    const lights = theme.amounts.map((c) => luminance(parsed(c)));
    equal([theme.amounts.length, theme.amounts[0]], [256, theme.paper]);
    for (let i = 1; i < 256; i++)
      ok(theme.dark ? lights[i]! >= lights[i - 1]! : lights[i]! <= lights[i - 1]!, `step ${i}`);
    const [low, high] = [Math.min(...lights), Math.max(...lights)];
    ok((high + 0.05) / (low + 0.05) > 12, "the ends are far apart without any hue");
  });

  test(`for and against are told apart with any colour vision (${name})`, () => {
    equal([theme.signs.length, theme.signs[255]], [511, theme.paper]);
    const [against, speaking] = [parsed(theme.signs[0]!), parsed(theme.signs[510]!)];
    equal([against, speaking], [theme.minus, theme.plus]);
    for (const missing of ["red", "green"] as const) {
      const [a, b] = [seen(against, missing), seen(speaking, missing)];
      ok(Math.hypot(...a.map((v, i) => v - b[i]!)) > 0.35, `without ${missing} cones`);
    }
  });

  test(`text is readable on its paper (${name})`, () => {
    const ratio = (a: string, b: string): number => {
      const [x, y] = [luminance(parsed(a)), luminance(parsed(b))];
      return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
    };
    ok(ratio(theme.ink, theme.paper) >= 7, "ink");
    ok(ratio(theme.soft, theme.paper) >= 4.5, "soft");
    ok(ratio(theme.focus, theme.paper) >= 3, "focus");
  });

  test(`no two heads have one colour (${name})`, () => {
    for (const n of [2, 8, 12, 16])
      equal(new Set(Array.from({ length: n }, (_, i) => series(i, n, theme.dark).join())).size, n, `${n} heads`);
  });
}

test("colours of a map grow with the square root of the weight", () => {
  const values = Float32Array.from([0, 0.0144, 0.04, 0.25, 1, 2]);
  const grid = { rows: 1, columns: 6, values, top: 1, down: 1, across: 1 };
  const first = amountRaster(grid, LIGHT);
  equal(first.cells, [0, 31, 51, 128, 255, 255]);
  ok(amountRaster(grid, LIGHT) === first, "made once");
  const signed = { ...grid, values: Float32Array.from([-2, -1, 0, 0.5, 1, 2]) };
  const raster = signRaster(signed, LIGHT);
  equal(raster.cells, [0, 0, 127, 191, 254, 254]);
  equal(raster.colours![127], LIGHT.paper);
});

type Call = [string, ...unknown[]];

/** Marks that write down what they are asked, and pass it on; widths come from one ruler. */
function written(to: Marks, ruler: Marks): { marks: Marks; calls: Call[] } {
  const calls: Call[] = [];
  const marks = {
    kind: to.kind,
    measure: (...given: Parameters<Marks["measure"]>) => ruler.measure(...given),
    clip(x: number, y: number, w: number, h: number, draw: () => void) {
      calls.push(["clip", x, y, w, h]);
      to.clip(x, y, w, h, draw);
    },
  } as Record<string, unknown>;
  for (const name of ["rect", "line", "polyline", "polygon", "band", "curve", "text", "raster"] as const)
    marks[name] = (...given: unknown[]) => {
      calls.push([name, ...given]);
      (to[name] as (...all: unknown[]) => void)(...given);
    };
  return { marks: marks as unknown as Marks, calls };
}

function paper(width: number, height: number): CanvasRenderingContext2D {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  context.fillStyle = "#ffffff";
  context.fillRect(0, 0, width, height);
  return context;
}

/** How far the pixels of the two are apart: mean and share of those that differ by more than an edge does. */
async function compared(draw: (m: Marks) => void, width: number, height: number): Promise<[number, number, number]> {
  const [canvas, svg] = [paper(width, height), svgMarks()];
  draw(canvasMarks(canvas));
  draw(svg.marks);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg.svg(width, height, "both", "#ffffff"))}`;
  await image.decode();
  const other = paper(width, height);
  other.drawImage(image, 0, 0);
  const [a, b] = [canvas, other].map((c) => c.getImageData(0, 0, width, height).data) as [
    Uint8ClampedArray,
    Uint8ClampedArray,
  ];
  let [sum, far, ink] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const d = Math.abs(a[i]! - b[i]!);
    sum += d;
    if (d > 96) far++;
    if (a[i]! < 250) ink++;
  }
  return [sum / a.length, far / a.length, ink];
}

test("a picture of paths leaves out the paper, and nothing else", () => {
  const values = Float32Array.from([-1, 0, 1]);
  const grid = { rows: 1, columns: 3, values, top: 1, down: 1, across: 1 };
  for (const [raster, drawn] of [
    [signRaster(grid, LIGHT), 2],
    [amountRaster({ ...grid, values: Float32Array.from([0, 0.5, 1]) }, LIGHT), 2],
  ] as const) {
    const { marks, svg } = svgMarks();
    marks.raster(0, 0, 30, 10, raster);
    equal([...svg(30, 10, "x", LIGHT.paper).matchAll(/<path /g)].length, drawn);
  }
});

test("a canvas and an SVG paint the same pixels for every shape", async () => {
  const shape = { fill: "#d55e00", stroke: "#0072b2", width: 2 };
  const cells = Uint8Array.from([0, 64, 128, 255, 200, 0]);
  const shapes: Record<string, (m: Marks) => void> = {
    rect: (m) => m.rect(10, 10, 60, 30, shape),
    faint: (m) => m.rect(10, 10, 60, 30, { fill: "#000000", alpha: 0.3 }),
    line: (m) => m.line(10, 10, 80, 80, { stroke: "#000000", width: 3, dash: [6, 3] }),
    polyline: (m) => m.polyline([10, 80, 40, 10, 80, 80], { stroke: "#000000", width: 2 }),
    polygon: (m) => m.polygon([10, 80, 40, 10, 80, 80], shape),
    band: (m) => m.band(10, 10, 30, 90, 50, 90, { fill: "#7b4fa3", alpha: 0.6 }),
    curve: (m) => m.curve(10, 10, 90, 90, { stroke: "#000000", width: 3 }),
    upright: (m) => m.curve(10, 10, 90, 90, { stroke: "#000000", width: 3 }, true),
    raster: (m) => m.raster(10, 10, 60, 40, { rows: 2, columns: 3, cells, colours: LIGHT.amounts }),
    clip: (m) => m.clip(20, 20, 30, 30, () => m.rect(0, 0, 100, 100, { fill: "#000000" })),
  };
  for (const [name, draw] of Object.entries(shapes)) {
    const [mean, far, ink] = await compared(draw, 100, 100);
    ok(ink > 100, `${name}: nothing was drawn`);
    ok(mean < 0.6 && far < 0.002, `${name}: mean difference ${mean}, far ${far}`);
  }
});

test("a view without its letters paints the same pixels on both", async () => {
  const heat = ordered.find((v) => v.name === "heat_map")!;
  const scene = sceneOf(text());
  const height = Math.ceil(heat.height(scene));
  const silent = (m: Marks): Marks => ({ ...m, text: () => {} });
  const [mean, far, ink] = await compared((m) => heat.draw(silent(m), scene), scene.width, height);
  ok(ink > 5000, "nothing was drawn");
  ok(mean < 0.5 && far < 0.005, `mean difference ${mean}, far ${far}`);
});

test("a canvas and an SVG receive the same marks from every view", () => {
  const ruler = svgMarks().marks;
  const context = paper(800, 600);
  const names = viewNames(text().manifest).map(([name]) => name);
  ok(names.length >= 5, names.join());
  for (const name of names) {
    const view = ordered.find((v) => v.name === name)!;
    const [canvas, svg] = [written(canvasMarks(context), ruler), written(svgMarks().marks, ruler)];
    for (const side of [canvas, svg]) view.draw(side.marks, sceneOf(text()));
    ok(canvas.calls.length > 5, `${name} drew ${canvas.calls.length} marks`);
    equal(canvas.calls, svg.calls, name);
  }
});

const EVIL = ["</script><script>alert(1)</script>", "a<b", "A&B &lt;", `"onload="alert(1)`, "\u0000\u0008", "\ud800x"];

test("an SVG holds names as text, whatever they are", () => {
  for (const evil of EVIL) {
    const { marks, svg } = svgMarks();
    marks.text(10, 10, evil, { fill: `red" onload="alert(1)` });
    marks.rect(0, 0, 1, 1, { fill: `"><script>`, stroke: "<" });
    const page = new DOMParser().parseFromString(svg(100, 50, evil, "#fff"), "image/svg+xml");
    equal(page.querySelector("parsererror")?.textContent, undefined, evil);
    equal(page.querySelectorAll("script, [onload]").length, 0, evil);
    const wanted = Array.from(evil, (c) => (c < " " || c === "\ud800" ? "\ufffd" : c)).join("");
    equal(page.querySelector("text")?.textContent, wanted);
    equal(page.querySelector("title")?.textContent, wanted);
  }
});

test("escaping is done once", () => {
  equal(escaped('<&>"'), "&lt;&amp;&gt;&quot;");
  equal(escaped("&lt;"), "&amp;lt;");
  equal(escaped("a\nb\t中😀"), "a\nb\t中😀");
});

test("every view of evil names is an SVG without a script", () => {
  const given = text({ title: EVIL[0]! });
  given.manifest.examples[0]!.axes[0]!.names = EVIL.slice(0, 5);
  given.manifest.examples[0]!.units.names = EVIL.slice(0, 5);
  given.manifest.caveat = EVIL[0]!;
  for (const [name] of viewNames(given.manifest)) {
    const drawn = renderSvg(name, given.manifest, given.chunks);
    ok(!/<\/?script/i.test(drawn), name);
    const page = new DOMParser().parseFromString(drawn, "image/svg+xml");
    equal(page.querySelector("parsererror")?.textContent, undefined, name);
    equal(page.querySelectorAll("script, image, a, foreignObject").length, 0, name);
  }
});

test("texts are cut and broken to the width they have", () => {
  const { marks } = svgMarks();
  const cut = fitted(marks, "a rather long name of a token", 60);
  ok(cut.endsWith("…") && marks.measure(cut) <= 60, cut);
  equal(fitted(marks, "short", 60), "short");
  const lines = wrapped(marks.measure, "one two three four five six", 60);
  ok(lines.length > 1 && lines.every((l) => marks.measure(l) <= 60), lines.join("|"));
  equal(lines.join(" "), "one two three four five six");
  near(marks.measure("中", 10), 10, 1e-9, "a wide letter is one em");
});
