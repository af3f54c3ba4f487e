/** B seen in the places of A. Places without a counterpart are not zero: they are left out, and said to be. */

import { allHeads } from "../attention.tsx";
import type { Grid } from "../data.ts";
import { keys, type Scene } from "../view.ts";
import { method, otherHead, otherSite, rightExample, rightNumber, siteA, siteIndex } from "./sides.ts";

/** Places of B for the places of an axis of A: as the pack says, one to one, or by the names in their order. */
function places(s: Scene, axisA: number, axisB: number): Int32Array {
  const right = rightExample(s);
  const [a, b] = [s.example.axes[axisA]!, right.axes[axisB]!];
  const linked = s.manifest.pairs.find((p) => p.left === s.e && p.right === s.values.other)?.origin;
  if (linked && a.units.some((u) => u >= 0) && b.units.some((u) => u >= 0)) {
    const out = new Int32Array(a.names.length).fill(-1);
    b.units.forEach((u, j) => {
      const from = u >= 0 ? (linked[u] ?? -1) : -1;
      const i = from >= 0 ? a.units.indexOf(from) : b.special[j] ? a.names.indexOf(b.names[j]!) : -1;
      if (i >= 0 && out[i]! < 0) out[i] = j;
    });
    return out;
  }
  if (a.names.length === b.names.length) return Int32Array.from(a.names, (_, i) => i);
  return common(a.names, b.names);
}

/** The longest common subsequence of two lists of names. */
function common(a: readonly string[], b: readonly string[]): Int32Array {
  const wide = b.length + 1;
  const best = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      best[i * wide + j] =
        a[i] === b[j]
          ? best[(i + 1) * wide + j + 1]! + 1
          : Math.max(best[(i + 1) * wide + j]!, best[i * wide + j + 1]!);
  const out = new Int32Array(a.length).fill(-1);
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) out[i++] = j++;
    else if (best[(i + 1) * wide + j]! >= best[i * wide + j + 1]!) i++;
    else j++;
  }
  return out;
}

/** A, B as seen in the places of A, and the difference. rows, columns: the place of B for each place of A, or -1. */
export interface Pair {
  a: Grid;
  /** NaN where A has a place and B has none. */
  b: Grid;
  /** B in its own places. */
  own: Grid;
  /** 0 where there is nothing to compare. */
  difference: Grid;
  rows: Int32Array;
  columns: Int32Array;
}

export function pair(s: Scene): Pair | null {
  const at = siteA(s);
  const heads = s.values.pool === "one" ? [Math.min(s.values.head, at.heads - 1)] : allHeads(at);
  const a = s.data.pooled(s.e, siteIndex(s), heads, s.values.pool === "one" ? "one" : "mean");
  let own: Grid | null;
  const v = s.values;
  if (v.other < 0) {
    const grids = s.data.alternative(s.e, -1 - v.other);
    own = grids && mean(s, `alternative:${s.e}:${v.other}`, grids);
  } else {
    const at2 = rightExample(s).sites[otherSite(s)]!;
    const h = otherHead(s);
    own = s.data.pooled(rightNumber(s), otherSite(s), h < 0 ? allHeads(at2) : [h], h < 0 ? "mean" : "one");
  }
  if (!a || !own) return null;
  const there = own;
  return s.data.once(`pair:${s.e}:${v.site}:${v.pool}:${v.head}:${v.other}:${v.otherSite}:${v.otherHead}`, () => {
    const at2 = v.other < 0 ? at : rightExample(s).sites[otherSite(s)]!;
    const one = (n: number): Int32Array => Int32Array.from({ length: n }, (_, i) => i);
    const fits = (list: Int32Array, n: number): Int32Array => list.map((x) => (x < n ? x : -1));
    const rows = fits(a.down > 1 ? one(a.rows) : places(s, at.queries, at2.queries), there.rows);
    const columns = fits(a.across > 1 ? one(a.columns) : places(s, at.keys, at2.keys), there.columns);
    const b = new Float32Array(a.values.length).fill(Number.NaN);
    const d = new Float32Array(a.values.length);
    let top = 0;
    for (let r = 0; r < a.rows; r++)
      for (let c = 0; c < a.columns; c++) {
        const [i, j] = [rows[r]!, columns[c]!];
        if (i < 0 || j < 0) continue;
        const cell = r * a.columns + c;
        b[cell] = there.values[i * there.columns + j]!;
        d[cell] = b[cell]! - a.values[cell]!;
        top = Math.max(top, Math.abs(d[cell]!));
      }
    return {
      a,
      b: { ...a, values: b, top: there.top },
      own: there,
      difference: { ...a, values: d, top },
      rows,
      columns,
    };
  });
}

/** Names that only one side has. */
export function alone(s: Scene): { a: string[]; b: string[] } {
  const found = pair(s);
  const at = siteA(s);
  if (!found || found.a.across > 1 || s.values.other < 0) return { a: [], b: [] };
  const theirs = keys(s, rightExample(s).sites[otherSite(s)]!, rightExample(s));
  const met = new Set(found.columns);
  return {
    a: keys(s, at).names.filter((_, i) => found.columns[i]! < 0),
    b: theirs.names.filter((_, j) => !met.has(j)),
  };
}

function mean(s: Scene, key: string, grids: Grid[]): Grid {
  return s.data.once(key, () => {
    const values = Float32Array.from(
      grids[0]!.values,
      (_, i) => grids.reduce((sum, g) => sum + g.values[i]!, 0) / grids.length,
    );
    return { ...grids[0]!, values, top: values.reduce((a, b) => Math.max(a, b), 0) };
  });
}

/** Relevances of A and B in the units of A, each divided by the sum of its sizes. */
export function relevances(s: Scene): { a: Float32Array; b: Float32Array } | null {
  const [ra, rb] = [s.data.relevance(s.e), s.data.relevance(rightNumber(s))];
  if (!ra || !rb) return null;
  const right = rightExample(s);
  const [ua, ub] = [s.example.units, right.units];
  const linked = s.manifest.pairs.find((p) => p.left === s.e && p.right === s.values.other)?.origin;
  let map: Int32Array;
  if (linked) {
    map = new Int32Array(ua.names.length).fill(-1);
    linked.forEach((from, j) => {
      if (from >= 0 && map[from]! < 0) map[from] = j;
    });
  } else
    map = ua.names.length === ub.names.length ? Int32Array.from(ua.names, (_, i) => i) : common(ua.names, ub.names);
  const scaled = (v: Float32Array): Float32Array => {
    const sum = v.reduce((t, x) => t + Math.abs(x), 0) || 1;
    return v.map((x) => x / sum);
  };
  const [a, b] = [scaled(ra[method(s, 0)]!), scaled(rb[method(s, 1)]!)];
  return { a, b: Float32Array.from(map, (j) => (j < 0 ? Number.NaN : b[j]!)) };
}
