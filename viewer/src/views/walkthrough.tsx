import { fitted, type Marks, SIZE, wrapped } from "../marks/marks.ts";
import { rgb } from "../palette.ts";
import { Choice } from "../parts.tsx";
import type { WalkEntry } from "../records.generated.ts";
import { headName, keys, number, queries, type Scene, shown, type Table, type View } from "../view.ts";

const LINE = 18;
const NAME = 110;

const walk = (s: Scene): WalkEntry => s.example.walks[Math.min(s.values.walk, s.example.walks.length - 1)]!;

interface Step {
  title: string;
  columns: string[];
  rows: { name: string; cells: (number | null)[] }[];
  /** The column that is shown as bars too. */
  bars?: number;
}

const view: View = {
  name: "walkthrough",
  title: "view_walkthrough",
  order: 8,
  attention: () => true,
  needs: (_, example) => (example.walks.length ? null : "no_walk"),
  height: (s) => steps(s).reduce((sum, x) => sum + LINE * (x.rows.length + 2 + (s.width < 640 ? 1 : 0)) + 14, 24),
  draw(m, s) {
    let y = 14 - s.scroll;
    for (const step of steps(s)) y = table(m, s, step, y);
    m.text(4, y + 6, check(s), { fill: s.theme.ink, bold: true });
    return {};
  },
  declared(s) {
    const w = walk(s);
    const at = s.example.sites[w.site]!;
    return `${headName(at, w.head)}, ${s.t("query")} ${shown(queries(s, at).names[w.query])}; ${s.t("strongest_features", { a: Math.min(w.features.length, Math.max(3, Math.floor((s.width - NAME - 60) / 48))), b: w.all_features, c: w.keys.length, d: at.columns })}`;
  },
  table(s): Table {
    const w = walk(s);
    const at = s.example.sites[w.site]!;
    return {
      caption: check(s),
      columns: [s.t("key"), s.t("dot"), s.t("scaled"), s.t("added"), "exp(score − max)", s.t("weight")],
      rows: w.keys.map((k, i) => [
        shown(keys(s, at).names[k]),
        Number(w.dots[i]!.toFixed(4)),
        Number(w.scaled[i]!.toFixed(4)),
        w.added[i]! < -1e8 ? "−∞" : Number(w.added[i]!.toFixed(4)),
        Number(w.exponentials[i]!.toFixed(5)),
        Number(w.weights[i]!.toFixed(5)),
      ]),
    };
  },
  controls: (c) =>
    c.example.walks.length > 1 ? (
      <Choice
        label={c.t("pick_row")}
        value={Math.min(c.state.walk.value, c.example.walks.length - 1)}
        options={c.example.walks.map((w, i) => {
          const at = c.example.sites[w.site]!;
          return [i, `${headName(at, w.head)} ${shown(queries(c, at).names[w.query])}`];
        })}
        pick={(i) => {
          c.state.walk.value = i;
        }}
      />
    ) : null,
};
export default view;

function check(s: Scene): string {
  const w = walk(s);
  const same = w.difference <= 1e-5;
  return s.t(same ? "self_check_passed" : "self_check_failed", { d: w.difference.toExponential(0) });
}

/** As many features as the width can show, the first of them; the picture says how many there are. */
function steps(s: Scene): Step[] {
  const w = narrowed(walk(s), Math.max(3, Math.floor((s.width - NAME - 60) / 48)));
  const names = keys(s, s.example.sites[w.site]!).names;
  const key = (i: number): string => `${w.keys[i]} ${shown(names[w.keys[i]!])}`;
  const features = w.features.map((f) => `f${f}`);
  const additive = w.form === "additive";
  const plain = w.added.every((a) => Math.abs(a) < 1e-5);
  const out: Step[] = [
    {
      title: additive ? s.t("walk_learned_vector") : s.t("walk_query_keys"),
      columns: features,
      rows: [
        { name: additive ? "v" : s.t("query"), cells: w.query_vector },
        ...w.key_vectors.map((v, i) => ({ name: key(i), cells: v })),
      ],
    },
    {
      title: s.t("walk_products", { n: w.all_features }),
      columns: [...features, s.t("dot")],
      rows: w.products.map((v, i) => ({ name: key(i), cells: [...v, w.dots[i]!] })),
    },
    {
      title: s.t("walk_softmax", {
        f: number(w.factor),
        t: number(w.total),
      }),
      columns: [s.t("scaled"), ...(plain ? [] : [s.t("added")]), "exp", s.t("weight")],
      rows: w.keys.map((_, i) => ({
        name: key(i),
        cells: [
          w.scaled[i]!,
          ...(plain ? [] : [w.added[i]! < -1e8 ? null : w.added[i]!]),
          w.exponentials[i]!,
          w.weights[i]!,
        ],
      })),
      bars: plain ? 2 : 3,
    },
  ];
  if (w.output.length)
    out.push({
      title: s.t("walk_output"),
      columns: w.output_features.map((f) => `f${f}`),
      rows: [
        ...w.weighted_values.map((v, i) => ({ name: key(i), cells: v })),
        { name: s.t("output"), cells: w.output },
      ],
    });
  return out;
}

function narrowed(w: WalkEntry, most: number): WalkEntry {
  const cut = (rows: number[][]): number[][] => rows.map((row) => row.slice(0, most));
  return {
    ...w,
    features: w.features.slice(0, most),
    query_vector: w.query_vector.slice(0, most),
    key_vectors: cut(w.key_vectors),
    products: cut(w.products),
    output_features: w.output_features.slice(0, most),
    weighted_values: cut(w.weighted_values),
    output: w.output.slice(0, most),
  };
}

function table(m: Marks, s: Scene, step: Step, top: number): number {
  const { theme } = s;
  const wide = Math.max(
    44,
    Math.min(92, (s.width - NAME - (step.bars === undefined ? 10 : 130)) / step.columns.length),
  );
  let y = top;
  for (const line of wrapped((t) => m.measure(t, SIZE, true), step.title, s.width - 8)) {
    m.text(4, y, line, { bold: true, fill: theme.ink });
    y += LINE;
  }
  step.columns.forEach((c, j) =>
    m.text(NAME + (j + 1) * wide - 4, y, fitted(m, c, wide - 4, 11), { align: "end", size: 11, fill: theme.soft }),
  );
  const most = Math.max(...step.rows.flatMap((r) => r.cells.map((v) => Math.abs(v ?? 0))), 1e-9);
  for (const row of step.rows) {
    y += LINE;
    m.text(NAME - 6, y, fitted(m, row.name, NAME - 8), { align: "end", fill: theme.ink });
    row.cells.forEach((v, j) => {
      const x = NAME + j * wide;
      if (step.bars === undefined && v)
        m.rect(x + 2, y - 13, wide - 4, LINE - 2, {
          fill: rgb(v >= 0 ? theme.plus : theme.minus),
          alpha: 0.55 * (Math.abs(v) / most),
        });
      m.text(x + wide - 4, y, v === null ? "−∞" : number(v), { align: "end", size: 11, fill: theme.ink });
    });
    const bar = step.bars === undefined ? null : row.cells[step.bars];
    if (bar) m.rect(NAME + step.columns.length * wide + 8, y - 11, 110 * bar, 11, { fill: rgb(theme.amount) });
  }
  return y + 14 + LINE;
}
