import { allHeads } from "../attention.tsx";
import { fitted } from "../marks/marks.ts";
import { rgb } from "../palette.ts";
import { Choice, Range } from "../parts.tsx";
import type { AxisEntry } from "../records.generated.ts";
import { keys, number, queries, type Scene, shown, type Table, type View } from "../view.ts";
import { wordFor } from "../words.ts";

const TOP = 34;
const EDGES = 260;
/** Room for what the two colours mean. */
const BELOW = 36;

interface Chain {
  /** Sites from the bottom up, all over the same axis. */
  layers: number[];
  /** The site that reads them at the end (a pooling, a cross-attention), or -1. */
  last: number;
}

/** Layers that pass the input upwards, and what reads their top. */
function chain(s: Scene): Chain {
  const { sites } = s.example;
  const axis = sites[0]?.keys ?? 0;
  const layers: number[] = [];
  let last = -1;
  sites.forEach((x, i) => {
    if (x.keys !== axis) return;
    if (x.queries === axis && x.rows === x.columns && x.kind !== "pooling" && x.kind !== "cross") layers.push(i);
    else last = i;
  });
  return { layers, last };
}

const view: View = {
  name: "flow",
  title: "view_flow",
  order: 4,
  attention: () => true,
  needs(_, example) {
    const axis = example.sites[0]?.keys;
    const ok = example.sites.some(
      (x) => x.keys === axis && x.queries === axis && x.rows === x.columns && x.kind !== "pooling",
    );
    if (!ok) return "no_chain";
    return example.sites.some((x) => x.storage === "tiles" || x.full.length < x.heads) ? "too_long" : null;
  },
  height: (s) => TOP + Math.min(24, Math.max(4, 540 / names(s).names.length)) * names(s).names.length + BELOW,
  draw(m, s) {
    const { theme } = s;
    const axis = names(s);
    const n = axis.names.length;
    const step = (view.height(s) - TOP - BELOW) / n;
    const found = flow(s);
    const { layers, last } = chain(s);
    const columns = layers.length + 1 + (last >= 0 ? 1 : 0);
    const side = Math.min(130, Math.max(104, s.width * 0.22));
    const x = (l: number): number => side + ((s.width - side - (last >= 0 ? side : 46)) * l) / Math.max(1, columns - 1);
    const y = (i: number): number => TOP + (i + 0.5) * step - s.scroll;
    m.text(side, 14, s.t("inputs"), { align: "middle", fill: theme.soft, size: 11 });
    for (let l = 1; l <= layers.length; l++)
      m.text(x(l), 14, layerName(s, layers[l - 1]!, x(1) - x(0)), {
        align: "middle",
        fill: theme.soft,
        size: 11,
      });
    if (!found) {
      m.text(side + 10, TOP + 20, s.t("loading"), { fill: theme.soft });
      return {};
    }
    const top = Math.max(...found.levels.map((r) => r.reduce((a, b) => Math.max(a, b), 0)), 1e-9);
    const thick = (v: number): number => Math.max(1, (Math.max(step * 2, 34) * v) / top);
    const pointed = s.values.hover?.unit;
    for (const e of found.edges) {
      const lit = pointed === undefined || e.from === pointed || e.to === pointed;
      const w = thick(e.weight);
      const own = e.from === e.to;
      const colour = own ? still(s) : rgb(theme.amount);
      const [x1, x2] = [x(e.layer) + 4, x(e.layer + 1) - 4];
      const [y1, y2] = [y(e.from), y(e.to)];
      m.band(x1, y1 - w / 2, y1 + w / 2, x2, y2 - w / 2, y2 + w / 2, { fill: colour, alpha: lit ? 0.8 : 0.15 });
    }
    found.levels.forEach((r, l) => {
      for (let i = 0; i < n; i++) {
        const v = r[i]!;
        if (v < 1e-4) continue;
        const h = Math.max(1.5, thick(v));
        m.rect(x(l) - 3, y(i) - h / 2, 6, h, { fill: pointed === i ? theme.focus : theme.ink });
      }
    });
    if (last >= 0) {
      const q = queries(s, s.example.sites[last]);
      const row = start(s).row;
      const yy = y(found.middle);
      const total = s.example.sites[last]!;
      m.text(x(columns - 1) + 4, yy + 4, fitted(m, shown(q.names[row]), side - 8), { bold: true, fill: theme.ink });
      m.text(x(columns - 1), 14, wordFor(s.t, "kind", total.kind), { align: "middle", fill: theme.soft, size: 11 });
      const r = found.levels.at(-1)!;
      for (let i = 0; i < n; i++) {
        if (r[i]! < 2e-3) continue;
        const w = thick(r[i]!);
        m.band(x(columns - 2) + 4, y(i) - w / 2, y(i) + w / 2, x(columns - 1) - 4, yy - w / 2, yy + w / 2, {
          fill: rgb(theme.amount),
          alpha: 0.5,
        });
      }
    }
    const legend = TOP + n * step + 22 - s.scroll;
    let at = 8;
    for (const [fill, what] of [
      [still(s), s.t("stays_place")],
      [rgb(theme.amount), s.t("comes_from_elsewhere")],
    ] as const) {
      m.rect(at, legend - 8, 14, 8, { fill, alpha: 0.8 });
      m.text(at + 18, legend, what, { fill: theme.soft, size: 10.5 });
      at += 30 + m.measure(what, 10.5);
    }
    const shares = found.levels[0]!;
    const size = Math.max(8, Math.min(12, step));
    const most = ranked(shares);
    const labelled = step >= 9 ? most : most.slice(0, Math.floor((n * step) / 11 / 3));
    let used: number[] = [];
    for (const i of labelled) {
      if (step < 9 && used.some((u) => Math.abs(u - y(i)) < 11)) continue;
      used = [...used, y(i)];
      const text = `${fitted(m, shown(axis.names[i]), side - 52, size)} ${(100 * shares[i]!).toFixed(0)} %`;
      m.text(side - 10, y(i) + size * 0.35, text, {
        align: "end",
        size,
        bold: pointed === i,
        fill: axis.special[i] ? theme.soft : theme.ink,
      });
    }
    return {
      hit(_x, yy) {
        const i = Math.floor((yy + s.scroll - TOP) / step);
        return i >= 0 && i < n ? { unit: i } : null;
      },
    };
  },
  declared(s) {
    const { layers, last } = chain(s);
    const from = start(s);
    const axis = last >= 0 ? queries(s, s.example.sites[last]) : names(s);
    const found = flow(s);
    const edges = found ? s.t("bands_drawn", { n: found.edges.length, m: found.total }) : "";
    return [
      s.t("flow_from", { x: shown(axis.names[from.row]), n: layers.length }),
      s.t("rollout_parts", {
        a: s.values.residual.toFixed(2),
        b: (1 - s.values.residual).toFixed(2),
      }),
      s.values.pool === "max" ? s.t("max_heads_renormalised") : s.t("mean_heads"),
      edges,
    ]
      .filter(Boolean)
      .join("; ");
  },
  say(target, s) {
    const found = flow(s);
    if (!found || target.unit === undefined) return "";
    const name = shown(names(s).names[target.unit]);
    const levels = found.levels.map(
      (r, l) => `${l ? s.t("after_layer", { n: l - 1 }) : s.t("input")} ${number(r[target.unit!] ?? 0)}`,
    );
    return `${name}: ${levels.join(", ")}`;
  },
  table(s): Table | null {
    const found = flow(s);
    if (!found) return null;
    const axis = names(s);
    const shares = found.levels[0]!;
    return {
      caption: s.t("input_shares", { what: view.declared(s) }),
      columns: [s.t("input"), s.t("at"), s.t("share")],
      rows: ranked(shares)
        .slice(0, 100)
        .map((i) => [shown(axis.names[i]), i, Number(shares[i]!.toFixed(6))]),
    };
  },
  controls(c) {
    const { last } = chain(c);
    const axis = last >= 0 ? queries(c, c.example.sites[last]) : names(c);
    return (
      <>
        {axis.names.length > 1 && (
          <Choice
            label={c.t("pick_from")}
            value={start(c).row}
            options={axis.names.map((name, i) => [i, `${i} ${shown(name)}`])}
            pick={(i) => {
              c.state.from.value = i;
            }}
          />
        )}
        <Range
          label={c.t("residual_n", { n: c.state.residual.value.toFixed(2) })}
          value={c.state.residual.value}
          low={0}
          high={0.9}
          step={0.05}
          pick={(v) => {
            c.state.residual.value = v;
          }}
        />
        <Choice
          label={c.t("pick_heads")}
          value={c.state.pool.value === "max" ? "max" : "mean"}
          options={[
            ["mean", c.t("mean")],
            ["max", c.t("max")],
          ]}
          pick={(v) => {
            c.state.pool.value = v as "mean" | "max";
          }}
        />
      </>
    );
  },
  click(target, c) {
    if (chain(c).last < 0 && target.unit !== undefined) c.state.from.value = target.unit;
    else c.state.locked.value = target;
  },
  top: (target, s) => TOP + (target.unit ?? 0) * ((view.height(s) - TOP - 14) / names(s).names.length),
  key(key, c) {
    const n = names(c).names.length;
    const old = c.state.hover.value?.unit;
    const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    if (key === "Enter" && old !== undefined) view.click?.({ unit: old }, c);
    else if (step) c.state.hover.value = { unit: old === undefined ? 0 : Math.min(n - 1, Math.max(0, old + step)) };
    else return false;
    return true;
  },
};
export default view;

/** The colour of what does not move. */
const still = (s: Scene): string => (s.theme.dark ? "#7a7f89" : "#9aa0aa");

const names = (s: Scene): AxisEntry => keys(s, s.example.sites[chain(s).layers[0] ?? 0]);

/** The output that is followed: what the user picked, what the answer reads, or the last row of a causal model. */
function start(s: Scene): { row: number } {
  const { layers, last } = chain(s);
  const at = s.example.sites[last >= 0 ? last : (layers.at(-1) ?? 0)]!;
  if (s.values.from >= 0 && s.values.from < at.rows) return { row: s.values.from };
  if (at.reading.length) return { row: at.reading[0]! };
  return { row: at.kind === "causal" ? at.rows - 1 : 0 };
}

interface Found {
  /** Shares at the inputs, then after each layer. */
  levels: Float32Array[];
  edges: { layer: number; from: number; to: number; weight: number }[];
  total: number;
  middle: number;
}

function flow(s: Scene): Found | null {
  const { layers, last } = chain(s);
  const pool = s.values.pool === "max" ? "max" : "mean";
  const grids = layers.map((i) => s.data.pooled(s.e, i, allHeads(s.example.sites[i]!), pool));
  const reader = last >= 0 ? s.data.pooled(s.e, last, allHeads(s.example.sites[last]!), pool) : null;
  if (grids.some((g) => !g) || (last >= 0 && !reader)) return null;
  const { row } = start(s);
  const own = s.values.residual;
  return s.data.once(`flow:${s.e}:${row}:${own}:${pool}`, () => {
    const n = s.example.sites[layers[0]!]!.columns;
    let now = new Float32Array(n);
    if (reader) {
      for (let k = 0; k < n; k++) now[k] = reader.values[row * n + k]!;
      normalise(now);
    } else now[row] = 1;
    const levels = [now];
    const edges: Found["edges"] = [];
    let total = 0;
    for (let l = layers.length - 1; l >= 0; l--) {
      const { values } = grids[l]!;
      const next = new Float32Array(n);
      for (let q = 0; q < n; q++) {
        const here = now[q]!;
        if (here <= 0) continue;
        let sum = 0;
        for (let k = 0; k < n; k++) sum += values[q * n + k]!;
        for (let k = 0; k < n; k++) {
          const w = here * ((1 - own) * (sum ? values[q * n + k]! / sum : 0) + (k === q ? own : 0));
          if (w <= 0) continue;
          next[k]! += w;
          total++;
          if (w > 1e-4) edges.push({ layer: l, from: k, to: q, weight: w });
        }
      }
      levels.unshift(next);
      now = next;
    }
    edges.sort((a, b) => b.weight - a.weight || a.layer - b.layer || a.from - b.from || a.to - b.to);
    const topLevel = levels.at(-1)!;
    let middle = 0;
    topLevel.forEach((v, i) => {
      middle += i * v;
    });
    return { levels, edges: edges.slice(0, EDGES), total, middle };
  });
}

function normalise(v: Float32Array): void {
  const sum = v.reduce((a, b) => a + b, 0) || 1;
  for (let i = 0; i < v.length; i++) v[i] = v[i]! / sum;
}

const ranked = (v: Float32Array): number[] => Array.from(v.keys()).sort((a, b) => v[b]! - v[a]! || a - b);

const layerName = (s: Scene, i: number, room: number): string =>
  s.t(room > 96 ? "after_layer" : "layer_short", { n: s.example.sites[i]!.layer });
