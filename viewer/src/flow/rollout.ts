/** What flows from one output back to the inputs, layer by layer; of long texts the strongest places and the rest. */

import { allHeads } from "../heads.ts";
import type { Scene } from "../view.ts";

const EDGES = 260;
/** Places from which on only the strongest stand alone, and how many those are. */
export const LONG = 60;
export const ALONE = 24;
/** The row of all places that do not stand alone. */
export const OTHERS = -1;

export interface Chain {
  /** Sites from the bottom up, all over the same axis. */
  layers: number[];
  /** The site that reads them at the end (a pooling, a cross-attention), or -1. */
  last: number;
}

/** Layers that pass the input upwards, and what reads their top. */
export function chain(s: Scene): Chain {
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

/** The output that is followed: what the user picked, what the answer reads, or the last row of a causal model. */
export function start(s: Scene): { row: number } {
  const { layers, last } = chain(s);
  const at = s.example.sites[last >= 0 ? last : (layers.at(-1) ?? 0)]!;
  if (s.values.from >= 0 && s.values.from < at.rows) return { row: s.values.from };
  if (at.reading.length) return { row: at.reading[0]! };
  return { row: at.kind === "causal" ? at.rows - 1 : 0 };
}

/** Rows of the picture that a text of so many places has: known before its weights are. */
export const rowCount = (places: number): number => (places > LONG ? ALONE + 1 : places);

export interface Flow {
  /** Shares of every place at the inputs, then after each layer. */
  levels: Float32Array[];
  /** The place of each row of the picture; the last may be `OTHERS`. */
  rows: number[];
  /** The same shares by row. */
  shares: Float32Array[];
  /** Bands between rows, the widest. */
  edges: { layer: number; from: number; to: number; weight: number }[];
  total: number;
  middle: number;
}

export function flow(s: Scene): Flow | null {
  const { layers, last } = chain(s);
  const pool = s.values.pool === "max" ? "max" : "mean";
  const grids = layers.map((i) => s.data.pooled(s.e, i, allHeads(s.example.sites[i]!), pool));
  const reader = last >= 0 ? s.data.pooled(s.e, last, allHeads(s.example.sites[last]!), pool) : null;
  if (grids.some((g) => !g) || (last >= 0 && !reader)) return null;
  const { row } = start(s);
  const own = s.values.residual;
  return s.data.once(`flow:${s.e}:${row}:${own}:${pool}`, () => {
    const n = s.example.sites[layers[0]!]!.columns;
    const output = new Float32Array(n);
    if (reader) {
      for (let k = 0; k < n; k++) output[k] = reader.values[row * n + k]!;
      normalise(output);
    } else output[row] = 1;
    const maps = grids.map((g) => g!.values);
    const levels = [output];
    for (let l = layers.length - 1; l >= 0; l--) {
      const next = new Float32Array(n);
      passed(levels[0]!, maps[l]!, own, (_q, k, w) => {
        next[k]! += w;
      });
      levels.unshift(next);
    }
    const rows = strongest(levels, n);
    const rowOf = new Int32Array(n).fill(rows.length - 1);
    rows.forEach((place, i) => {
      if (place !== OTHERS) rowOf[place] = i;
    });
    const shares = levels.map((level) => {
      const out = new Float32Array(rows.length);
      level.forEach((v, k) => {
        out[rowOf[k]!]! += v;
      });
      return out;
    });
    const edges: Flow["edges"] = [];
    let total = 0;
    for (let l = layers.length - 1; l >= 0; l--) {
      const sums = new Float64Array(rows.length * rows.length);
      passed(levels[l + 1]!, maps[l]!, own, (q, k, w) => {
        sums[rowOf[k]! * rows.length + rowOf[q]!]! += w;
      });
      sums.forEach((weight, i) => {
        if (weight <= 0) return;
        total++;
        const [from, to] = [Math.floor(i / rows.length), i % rows.length];
        if (weight > 1e-4) edges.push({ layer: l, from, to, weight });
      });
    }
    edges.sort((a, b) => b.weight - a.weight || a.layer - b.layer || a.from - b.from || a.to - b.to);
    let middle = 0;
    shares.at(-1)!.forEach((v, i) => {
      middle += i * v;
    });
    return { levels, rows, shares, edges: edges.slice(0, EDGES), total, middle };
  });
}

/** What each place of one level gets from each place of the level above. */
function passed(
  above: Float32Array,
  map: Float32Array,
  own: number,
  gives: (q: number, k: number, w: number) => void,
): void {
  const n = above.length;
  for (let q = 0; q < n; q++) {
    const here = above[q]!;
    if (here <= 0) continue;
    let sum = 0;
    for (let k = 0; k < n; k++) sum += map[q * n + k]!;
    for (let k = 0; k < n; k++) {
      const w = here * ((1 - own) * (sum ? map[q * n + k]! / sum : 0) + (k === q ? own : 0));
      if (w > 0) gives(q, k, w);
    }
  }
}

/** All places, or of many those with the largest share at any level, in the order of the text, and the rest. */
function strongest(levels: readonly Float32Array[], n: number): number[] {
  const all = Array.from({ length: n }, (_, i) => i);
  if (n <= LONG) return all;
  const most = all.map((i) => Math.max(...levels.map((level) => level[i]!)));
  const alone = all.sort((a, b) => most[b]! - most[a]! || a - b).slice(0, ALONE);
  return [...alone.sort((a, b) => a - b), OTHERS];
}

function normalise(v: Float32Array): void {
  const sum = v.reduce((a, b) => a + b, 0) || 1;
  for (let i = 0; i < v.length; i++) v[i] = v[i]! / sum;
}
