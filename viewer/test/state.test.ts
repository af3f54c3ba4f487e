/** What the user did: reset, edits and their way back, a Spec from one reader to another; languages. */

import { render } from "preact";
import { initial } from "../src/pictures.ts";
import { type EditEntry, finished, type Live } from "../src/source.ts";
import { newState, plain, reset, START } from "../src/state.ts";
import type { Context } from "../src/view.ts";
import counterfactual from "../src/views/counterfactual.tsx";
import { type Dictionary, translator, wordFor } from "../src/words.ts";
import { equal, ok, test } from "./harness.ts";
import { dataOf, gzip, sceneOf, text } from "./sample.ts";

test("reset clears all that the user did, and only that", () => {
  const before = JSON.stringify(START);
  const state = newState({ view: "flow" });
  state.threshold.value = 0.3;
  state.zoom.value = { x: 0.5, y: 0.5, scale: 4 };
  state.locked.value = { query: 1, key: 2 };
  state.off.value = [...state.off.value, 3];
  state.marked.value = [1];
  state.edits.value = [{ what: "uniform", site: "x" }];
  reset(state, { view: "flow", site: 2 });
  equal(plain(state), { ...START, view: "flow", site: 2 });
  equal(JSON.stringify(START), before, "where everybody starts");
  equal(Object.keys(state), Object.keys(START));
});

test("a fresh viewer shows the last layer, all heads and all methods", () => {
  const values = initial(text().manifest, 0);
  equal([values.site, values.pool, values.methods, values.upright], [1, "mean", [0, 1], true]);
  const chinese = text();
  chinese.manifest.examples[0]!.axes[0]!.names = ["[CLS]", "电", "影", "好", "[SEP]"];
  equal(initial(chinese.manifest, 0).upright, false, "scripts that are read across lie");
  equal(initial(text().manifest, 0, { site: 0, head: 1 }).head, 1);
});

/** A host whose model takes every edit but those of a head that it does not have. */
async function host(): Promise<{ live: Live; called: [string, Record<string, unknown>][] }> {
  const given = text();
  const called: [string, Record<string, unknown>][] = [];
  const results = new Map<string, unknown>();
  const said = {
    label: "yes",
    probability: 0.9,
    distribution: [
      ["no", 0.1],
      ["yes", 0.9],
    ],
  };
  const live = {
    hello: { model: "m", methods: [], can: { ask: true, edit: true, mark: true, alternative: false }, pack: "p0" },
    pack: "p0",
    async call(op: string, body: Record<string, unknown>) {
      called.push([op, JSON.parse(JSON.stringify(body)) as Record<string, unknown>]);
      if (op === "manifest") return given.manifest;
      if (op === "job")
        return { ...body, state: "done", stage: "", version: 1, ...(results.get(body["job"] as string) as object) };
      const id = `j${results.size}`;
      const edits = body["edits"] as EditEntry[] | undefined;
      const spec = body["spec"] as { text: string; edits: EditEntry[] } | undefined;
      if (edits?.some((e) => e.heads?.includes(1)))
        results.set(id, { state: "failed", error: { said: "head 1 cannot be edited" } });
      else if (op === "open") results.set(id, { result: { pack: "p9", edits: spec!.edits } });
      else
        results.set(id, {
          result: { before: said, after: said, change: 0.1, pack: "p1", spec: { text: "unlikely story", edits } },
        });
      return { job: id };
    },
    chunk: async (_pack: string, id: string) => gzip(Uint8Array.from(given.chunks[id]!)),
  } as unknown as Live;
  return { live, called };
}

interface Desk {
  c: () => Context;
  called: [string, Record<string, unknown>][];
  opened: string[];
  press: (label: string) => Promise<void>;
  shown: () => string;
  settled: () => Promise<void>;
}

async function desk(dictionary: Dictionary = {}): Promise<Desk> {
  const given = text();
  const state = newState(initial(given.manifest, 0));
  const { live, called } = await host();
  const data = dataOf(given);
  const opened: string[] = [];
  const c = (): Context => ({
    ...sceneOf(given, {}, data),
    values: plain(state),
    state,
    live,
    t: translator(dictionary),
    open: async (pack) => void opened.push(pack),
    refresh: () => {},
  });
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 100; i++) {
      await new Promise((r) => setTimeout(r, 1));
      if (!state.busy.value) return;
    }
  };
  const page = (): HTMLElement => {
    const element = document.createElement("div");
    render([counterfactual.controls!(c()), counterfactual.below!(c())], element);
    return element;
  };
  const press = async (label: string): Promise<void> => {
    const button = Array.from(page().querySelectorAll("button")).find((b) => b.textContent === label);
    ok(button && !button.disabled, `${label} can be pressed`);
    button!.click();
    await settled();
  };
  return { c, called, opened, press, settled, shown: () => page().textContent ?? "" };
}

test("edits are taken back and made again in their order", async () => {
  const d = await desk();
  const edits = () => d.c().values.edits.map((e) => e.what);
  await d.press("Uniform row");
  counterfactual.drag!({ key: 0 }, { key: 3 }, d.c());
  await d.settled();
  equal(edits(), ["uniform", "move"]);
  const moved = d.c().values.edits[1]!;
  equal([moved.from, moved.to, moved.share, moved.queries, moved.site], [0, 3, 1, [0], "layer.1"]);
  await d.press("Undo");
  equal([edits(), d.c().values.undone.length], [["uniform"], 1]);
  await d.press("Redo");
  equal(d.c().values.edits[1], moved);
  await d.press("Undo");
  await d.press("Undo");
  equal([edits(), d.c().values.after], [[], null], "nothing is edited any more");
  await d.press("Redo");
  await d.press("Uniform, all rows");
  equal([edits(), d.c().values.undone], [["uniform", "uniform"], []], "a new edit forgets what was taken back");
  const last = d.called.filter(([op]) => op === "edit").at(-1)![1];
  equal(last["edits"], d.c().values.edits, "the model was asked about all of them");
});

test("an edit that the model refuses is not on the list, and the reason is", async () => {
  const d = await desk();
  await d.press("Uniform row");
  Object.assign(d.c().state.pool, { value: "one" });
  d.c().state.head.value = 1;
  await d.press("Switch the head off");
  equal(d.c().values.edits.length, 1);
  equal([d.c().values.problem, d.c().values.busy], ["head 1 cannot be edited", ""]);
  ok(d.shown().includes("head 1 cannot be edited"), d.shown());
});

test("weight dragged onto its own bar is no edit", async () => {
  const d = await desk();
  counterfactual.drag!({ key: 2 }, { key: 2 }, d.c());
  await d.settled();
  equal([d.c().values.edits, d.called], [[], []]);
});

test("a Spec that one reader shares is opened by another with the same edits", async () => {
  const [one, other] = [await desk(), await desk()];
  await one.press("Uniform row");
  counterfactual.drag!({ key: 1 }, { key: 2 }, one.c());
  await one.settled();
  await one.press("Share as a Spec");
  const spec = one.c().values.spec;
  equal(JSON.parse(spec), { text: "unlikely story", edits: one.c().values.edits });
  other.c().state.given.value = spec;
  await other.press("Apply it here");
  for (let i = 0; i < 50 && !other.c().values.outcome; i++) await new Promise((r) => setTimeout(r, 2));
  equal(other.called.find(([op]) => op === "open")?.[1], { spec: JSON.parse(spec) });
  equal(other.opened, ["p9"]);
  equal(other.c().values.edits, one.c().values.edits);
  equal(other.called.find(([op]) => op === "edit")?.[1]["pack"], "p9");
});

test("a Spec that is none is refused in words", async () => {
  const d = await desk();
  d.c().state.given.value = "{no json";
  await d.press("Apply it here");
  ok(d.c().values.problem.length > 5, "a reason");
  equal([d.c().values.edits, d.called, d.c().values.busy], [[], [], ""]);
});

test("a job that the user stops is cancelled at its host, once", async () => {
  const called: string[] = [];
  const stop = { wanted: false };
  const live = {
    async call(op: string) {
      called.push(op);
      const polls = called.filter((x) => x === "job").length;
      return { job: "j", state: polls > 3 ? "cancelled" : "running", stage: "", done: 0, total: 1, version: polls };
    },
  } as unknown as Live;
  const told: number[] = [];
  const said = await finished(
    live,
    "ask",
    {},
    (job) => {
      told.push(job.version);
      stop.wanted = told.length >= 2;
    },
    stop,
    translator(),
  ).catch((e: Error) => e.message);
  equal(said, "cancelled");
  equal(called, ["ask", "job", "job", "cancel", "job", "job"]);
});

const CHINESE = { head_of: "第 {h} 个头，共 {n} 个", edit_move: "把 {a} 的 {p} % 移到 {b}", row_of: "{q} 的行" };

test("words come from the dictionary of the host, English ones where it has none", () => {
  equal(translator()("head_of", { h: 1, n: 8 }), "head 1 of 8");
  equal(translator()("heads_of_layers", { n: 1, m: 2 }), "1 head of 2 layers");
  equal(translator(CHINESE)("head_of", { h: 1, n: 8 }), "第 1 个头，共 8 个");
  equal(translator(CHINESE)("heads_h", { h: 3 }), "heads 3");
});

test("names that arrive as data have a word or stand for themselves", () => {
  equal(wordFor(translator({ kind_self: "自" }), "kind", "self"), "自");
  equal(wordFor(translator(), "stage", "rollout"), "rollout");
});

test("edits are told in the language of the reader", async () => {
  const d = await desk(CHINESE);
  counterfactual.drag!({ key: 0 }, { key: 3 }, d.c());
  await d.settled();
  ok(d.shown().includes("把 “[CLS]” 的 100 % 移到 “story” (layer.1, “[CLS]” 的行)"), d.shown());
  const e = await desk();
  counterfactual.drag!({ key: 0 }, { key: 3 }, e.c());
  await e.settled();
  ok(e.shown().includes("move 100 % of “[CLS]” to “story” (layer.1, row of “[CLS]”)"), e.shown());
});
