/** Words and sub-words, special tokens, pairs of texts. */

import { isPair, picked, places, selection } from "../src/attention.tsx";
import { isSplit, largest, pieces, worth } from "../src/units.ts";
import { number, shown } from "../src/view.ts";
import { links } from "../src/views/heat_map.tsx";
import { equal, near, ok, test } from "./harness.ts";
import { axis, sample, sceneOf, softmaxed, TOKENS, text } from "./sample.ts";

test("sub-words stand alone, words are put together", () => {
  const tokens = pieces(sceneOf(text()));
  equal(
    tokens.map((p) => p.name),
    ["[CLS]", "un", "likely", "story", "[SEP]"],
  );
  equal(
    tokens.map((p) => p.spaced),
    [true, true, false, true, true],
  );
  const words = pieces(sceneOf(text(), { words: true }));
  equal(
    words.map((p) => p.name),
    ["[CLS]", "unlikely", "story", "[SEP]"],
  );
  equal(
    words.map((p) => p.units),
    [[0], [1, 2], [3], [4]],
  );
  ok(isSplit(sceneOf(text())), "a word of two pieces is one");
});

test("the relevance of a word is the sum over its pieces, and nothing is lost", () => {
  const scene = sceneOf(text(), { words: true });
  for (const values of scene.data.relevance(0)!) {
    const sums = pieces(scene).map((p) => worth(values, p));
    near(sums[1]!, values[1]! + values[2]!, 1e-6, "word");
    near(
      sums.reduce((a, b) => a + b, 0),
      values.reduce((a, b) => a + b, 0),
      1e-6,
      "total",
    );
  }
  equal(
    scene.data.relevance(0)!.map((v) => v.length),
    [5, 5],
  );
});

test("characters beyond the first plane are cut where the text has them", () => {
  const given = text({ text: "😀a b" });
  const { units } = given.manifest.examples[0]!;
  Object.assign(units, {
    names: ["x", "y"],
    places: [
      [0, 2],
      [3, 4],
    ],
    special: [false, false],
    groups: [0, 1],
  });
  equal(
    pieces(sceneOf(given)).map((p) => p.name),
    ["😀a", "b"],
  );
});

test("two texts do not share a word, even of the same group", () => {
  const given = text();
  given.manifest.examples[0]!.units.groups = [0, 0, 0, 0, 0];
  given.manifest.examples[0]!.units.part = [0, 0, 0, 1, 1];
  equal(
    pieces(sceneOf(given, { words: true })).map((p) => p.units),
    [
      [0, 1, 2],
      [3, 4],
    ],
  );
});

test("hidden special tokens leave pieces, rows and columns, and no weight changes", () => {
  equal(
    pieces(sceneOf(text(), { hideSpecial: true })).map((p) => p.name),
    ["un", "likely", "story"],
  );
  const [all, some] = [sceneOf(text(), { pool: "mean" }), sceneOf(text(), { pool: "mean", hideSpecial: true })];
  const at = some.example.sites[1]!;
  equal(places(some, at), { rows: [1, 2, 3], columns: [1, 2, 3] });
  const cells = (t: ReturnType<typeof links>): Map<string, number> =>
    new Map(t!.rows.map((r) => [`${r[1]}-${r[3]}`, r[4] as number]));
  const [before, after] = [cells(links(all)), cells(links(some))];
  equal([before.size, after.size], [25, 9]);
  for (const [key, value] of after) equal(value, before.get(key), key);
  ok(selection(some).includes("rows not renormalised"), selection(some));
});

test("the halves of a pair are told apart", () => {
  const given = text({ axes: [axis(TOKENS, [0, 0, 0, 1, 1])] });
  const scene = sceneOf(given, { pair: "0-1" });
  equal(places(scene, scene.example.sites[0]!), { rows: [0, 1, 2], columns: [3, 4] });
  ok(isPair(scene, scene.example.sites[0]!), "two texts");
  ok(!isPair(sceneOf(text()), text().manifest.examples[0]!.sites[0]!), "one text");
});

test("a writing step is the row in which it was computed", () => {
  const scene = sceneOf(text({ made: ["story", "."] }), { step: 1 });
  scene.example.sites.forEach((at) => {
    at.kind = "causal";
  });
  equal(places(scene, scene.example.sites[0]!).rows, [4]);
});

test("pictures of paths are pooled, pictures of pixels are not", () => {
  const names = Array.from({ length: 200 }, String);
  const scene = sceneOf(sample(names, [softmaxed(1, 200, 4)]));
  equal(picked(scene).grid!.rows, 200);
  equal(picked({ ...scene, still: true }).grid!.rows, 160);
});

test("numbers are short and what cannot be seen is shown", () => {
  equal([0, 0.1234, -0.5, 12.34, 1234.5, 0.00012].map(number), ["0", "0.123", "-0.500", "12.3", "1235", "1.2e-4"]);
  equal([" ", "\n", "a\tb", undefined].map(shown), ["␣", "⏎", "a⇥b", ""]);
  equal(largest([0.2, -0.7, 0.1]), 0.7);
});
