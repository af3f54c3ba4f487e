/** What long texts and writing models change: the lens, names at any length, groups of the flow, sinks. */

import { classBars } from "../src/answer.tsx";
import { places } from "../src/attention.tsx";
import { Data } from "../src/data.ts";
import { flow } from "../src/flow/rollout.ts";
import { at, axis, named, placeAt, width } from "../src/heat/axis.ts";
import { svgMarks } from "../src/marks/svg.ts";
import { sinks } from "../src/sinks.ts";
import flowView from "../src/views/flow.tsx";
import heat from "../src/views/heat_map.tsx";
import written from "../src/views/written.tsx";
import { equal, near, ok, test } from "./harness.ts";
import { dataOf, sample, sceneOf, softmaxed, text } from "./sample.ts";

const WHOLE = { from: 0, scale: 1 };
const many = (n: number): string[] => Array.from({ length: n }, (_, i) => `t${i}`);

test("under the lens places keep their order, fill the axis and stay under the pointer", () => {
  for (const middle of [0, 3, 40, 117, 119]) {
    const a = axis(120, 480, WHOLE, middle);
    ok(a.runs.length > 1, "a lens");
    near(at(a, 0), 0, 1e-9, "begin");
    near(at(a, 119) + width(a, 119), 480, 1e-6, "end");
    for (let i = 1; i < 120; i++) near(at(a, i), at(a, i - 1) + width(a, i - 1), 1e-6, `place ${i} of lens ${middle}`);
    ok(width(a, middle) >= 12, "large enough to be named");
    const pointer = (middle + 0.5) * 4;
    equal(placeAt(a, pointer), middle);
    ok(Math.abs(pointer - at(a, middle) - width(a, middle) / 2) <= width(a, middle) / 2, "under the pointer");
  }
});

test("there is no lens where every place has its name, or in a zoomed map", () => {
  equal(axis(20, 480, WHOLE, 4).runs.length, 1);
  equal(axis(200, 480, { from: 0, scale: 6 }, 4).runs.length, 1);
  equal(axis(200, 480, WHOLE, -1).runs.length, 1);
});

test("names are written at any length, never closer than they can be read", () => {
  for (const n of [5, 60, 157, 512, 4096]) {
    const a = axis(n, 480, WHOLE, -1);
    const { places: shown, every } = named(a, -1, 11);
    ok(shown.length >= Math.min(n, 20), `${shown.length} names of ${n}`);
    const middles = shown.map((p) => at(a, p) + width(a, p) / 2);
    middles.slice(1).forEach((y, i) => {
      ok(y - middles[i]! >= 9, `names ${i} of ${n}`);
    });
    equal(every === 1, n * 9 <= 480);
  }
  ok(named(axis(512, 480, WHOLE, 301), 301, 11).places.includes(301), "what is pointed at has its name");
});

test("a long map has an overview that leads to the place clicked", () => {
  const scene = sceneOf(sample(many(120), [softmaxed(1, 120, 3)]));
  ok(heat.declared(scene).includes("one name in"), heat.declared(scene));
  const high = heat.height(scene);
  const drawn = heat.draw(svgMarks().marks, scene);
  let [last, first] = ["", ""];
  for (let x = 0; x < scene.width; x++) {
    const part = drawn.hit!(x, high - 40)?.part;
    if (part) [first, last] = [first || part, part];
  }
  near(Number(first.split(":")[0]), 0, 0.02, "left end");
  near(Number(last.split(":")[0]), 1, 0.02, "right end");
  const short = sceneOf(sample(many(40), [softmaxed(1, 40, 3)]));
  equal(heat.draw(svgMarks().marks, short).hit!(scene.width - 40, heat.height(short) - 20), null);
});

test("a map of few places uses the width that it has", () => {
  const scene = sceneOf(sample(many(12), [softmaxed(1, 12, 3)]));
  const drawn = heat.draw(svgMarks().marks, scene);
  const pointed = Array.from({ length: scene.width }, (_, x) => x).filter((x) => drawn.hit!(x, 120)?.key !== undefined);
  ok(pointed.at(-1)! > 0.8 * scene.width, `${pointed.at(-1)} of ${scene.width}`);
});

test("the flow of a long text has the strongest places and the others, and loses nothing", () => {
  const given = sample(many(90), [softmaxed(1, 90, 5), softmaxed(1, 90, 6)]);
  const scene = sceneOf(given, { from: 7 });
  const found = flow(scene)!;
  equal([found.rows.length, found.rows.at(-1)], [25, -1]);
  ok(found.rows.includes(7), "the place that is followed");
  found.shares.forEach((shares, level) => {
    near(
      shares.reduce((a, b) => a + b, 0),
      1,
      1e-5,
      `level ${level}`,
    );
    near(shares[0]!, found.levels[level]![found.rows[0]!]!, 1e-7, "a place that stands alone");
  });
  const alone = found.rows.slice(0, -1).map((p) => Math.max(...found.levels.map((level) => level[p]!)));
  const rest = many(90)
    .map((_, p) => p)
    .filter((p) => !found.rows.includes(p))
    .map((p) => Math.max(...found.levels.map((level) => level[p]!)));
  ok(Math.min(...alone) >= Math.max(...rest), "those alone are the strongest");
  const into = found.edges.filter((e) => e.layer === 1).reduce((sum, e) => sum + e.weight, 0);
  near(into, 1, 0.01, "bands of the last layer");
  ok(flowView.declared(scene).includes("the 24 strongest of 90 places"), flowView.declared(scene));
  ok(flowView.say!({ unit: -1 }, scene).startsWith("66 others"), flowView.say!({ unit: -1 }, scene));
  equal(flowView.table(scene)!.rows.length, 90);
  equal(flow(sceneOf(sample(many(60), [softmaxed(1, 60, 5)])))!.rows.length, 60);
});

/** A writer whose first token takes most of every row. */
function writer() {
  const n = 6;
  const rows = many(n).map((_, q) => many(n).map((_, k) => (k > q ? 0 : q === 0 ? 1 : k === 0 ? 0.7 : 0.3 / q)));
  const given = sample(many(n), [[rows]], { made: ["a", "b", "c"] });
  given.manifest.examples[0]!.sites[0]!.kind = "causal";
  return given;
}

test("sinks are hidden by a switch, and the words say so", () => {
  const scene = sceneOf(writer());
  const site = scene.example.sites[0]!;
  equal(sinks(scene, site), [0]);
  equal(places(scene, site).columns, [1, 2, 3, 4, 5]);
  ok(heat.declared(scene).includes("attention sinks hidden: t0"), heat.declared(scene));
  equal(places(sceneOf(writer(), { hideSinks: false }), site).columns.length, 6);
  const plain = sceneOf(text());
  equal(sinks(plain, plain.example.sites[0]!), []);
});

test("the written text shows the row in which the picked token was chosen", () => {
  const scene = sceneOf(writer(), { written: 1 });
  // six places are read: four were given, "a" and "b" were read again, and "b" was chosen in the row of "a"
  equal(
    written
      .table(scene)!
      .rows.map((r) => [r[0], r[1]])
      .sort(),
    [
      ["t1", 1],
      ["t2", 2],
      ["t3", 3],
      ["t4", 4],
    ],
  );
  ok(written.declared(scene).includes("“b” (token 2 of 3)"), written.declared(scene));
  ok(written.declared(scene).includes("they take 70 % of this row"), written.declared(scene));
  const all = sceneOf(writer(), { written: 1, hideSinks: false });
  near(written.table(all)!.rows[0]![2] as number, 0.7, 0.004, "the sink");
});

test("every class has a bar, the most probable first; of very many the rest is one", () => {
  const { manifest } = text();
  const example = { ...manifest.examples[0]!, distribution: [0.1, 0.7, 0.2] };
  const bars = classBars(example, ["a", "b", "c"], String);
  equal(
    bars.map((b) => [b.name, b.probability]),
    [
      ["b", 0.7],
      ["c", 0.2],
      ["a", 0.1],
    ],
  );
  const labels = many(40);
  const flat = { ...example, distribution: labels.map((_, i) => (i + 1) / 820) };
  const few = classBars(flat, labels, (n) => `${n} more`);
  equal([few.length, few[0]!.name, few.at(-1)!.name], [11, "t39", "30 more"]);
  near(
    few.reduce((sum, b) => sum + b.probability, 0),
    1,
    1e-9,
    "sum",
  );
  equal(classBars({ ...example, distribution: [] }, ["a", "b"], String), []);
});

test("a growing answer keeps its weights and fetches its relevances anew", () => {
  const given = text();
  const old = dataOf(given);
  old.head(0, 0, 0);
  old.relevance(0);
  const asked: string[] = [];
  const fetch = (id: string): Promise<Uint8Array> => {
    asked.push(id);
    return new Promise(() => {});
  };
  const next = new Data(given.manifest, fetch, () => {});
  next.inherit(old);
  equal(Array.from(next.head(0, 0, 0)!.values), Array.from(old.head(0, 0, 0)!.values));
  next.relevance(0);
  equal(asked, ["0/relevance"]);
});
