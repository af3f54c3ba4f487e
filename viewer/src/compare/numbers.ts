/** The same comparison as numbers. */

import type { ExampleEntry } from "../records.generated.ts";
import { number, type Scene } from "../view.ts";
import { pair, relevances } from "./pairing.ts";
import { byRelevance, rightExample } from "./sides.ts";

/** What the pictures say, as numbers. */
export function numbers(s: Scene): [string, string][] | null {
  const right = rightExample(s);
  const out: [string, string][] = [];
  if (byRelevance(s)) {
    const found = relevances(s);
    if (!found) return null;
    const free = s.example.units.special.map((x, i) => (x || Number.isNaN(found.b[i]!) ? -1 : i)).filter((i) => i >= 0);
    const [a, b] = [free.map((i) => found.a[i]!), free.map((i) => found.b[i]!)];
    const k = Math.min(5, Math.max(1, Math.floor(free.length / 3)));
    out.push([s.t("kendall_tau", { n: free.length }), number(kendall(a, b))]);
    out.push([s.t("strongest_common", { k }), `${overlap(a, b, k)} / ${k}`]);
  } else {
    const found = pair(s);
    if (!found) return null;
    const { a, own, rows, columns } = found;
    const [met, seen] = [rows.map((_, r) => r).filter((r) => rows[r]! >= 0), columns.filter((c) => c >= 0).length];
    let [variation, divergence] = [0, 0];
    for (const r of met) {
      // what lies on places of one side only is one more outcome, so that no mass gets lost
      const [p, q] = [new Float32Array(seen + 1), new Float32Array(seen + 1)];
      let [at, rest] = [0, 0];
      for (let k = 0; k < own.columns; k++) rest += own.values[rows[r]! * own.columns + k]!;
      for (let c = 0; c < a.columns; c++) {
        const w = a.values[r * a.columns + c]!;
        if (columns[c]! < 0) p[seen]! += w;
        else {
          p[at] = w;
          q[at] = own.values[rows[r]! * own.columns + columns[c]!]!;
          rest -= q[at++]!;
        }
      }
      q[seen] = Math.max(0, rest);
      variation += distance(p, q) / met.length;
      divergence += jensenShannon(p, q) / met.length;
    }
    out.push([s.t("total_variation", { n: met.length }), number(variation)]);
    out.push([s.t("jensen_shannon"), number(divergence)]);
    out.push([s.t("largest_difference_weight"), number(found.difference.top)]);
  }
  const alternative = s.values.other < 0 ? s.example.alternatives[-1 - s.values.other] : undefined;
  if (alternative) out.push([s.t("answer_moved_variation"), number(alternative.change)]);
  else if (s.values.other !== s.e) {
    const said = (x: ExampleEntry): string =>
      `${x.predicted || "–"}${x.probability === null ? "" : ` (${x.probability.toFixed(3)})`}`;
    out.push([s.t("answer_a_b"), `${said(s.example)} → ${said(right)}`]);
    const [p, q] = [s.example.distribution, right.distribution];
    if (p.length && p.length === q.length)
      out.push([s.t("answer_moved_variation"), number(distance(Float32Array.from(p), Float32Array.from(q)))]);
  }
  return out;
}

function distance(p: Float32Array, q: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < p.length; i++) sum += Math.abs(p[i]! - q[i]!);
  return sum / 2;
}

function jensenShannon(p: Float32Array, q: Float32Array): number {
  const [sp, sq] = [p, q].map((v) => v.reduce((a, b) => a + b, 0) || 1) as [number, number];
  let sum = 0;
  for (let i = 0; i < p.length; i++) {
    const [a, b] = [p[i]! / sp, q[i]! / sq];
    const mid = (a + b) / 2;
    if (a > 0) sum += (a * Math.log(a / mid)) / 2;
    if (b > 0) sum += (b * Math.log(b / mid)) / 2;
  }
  return sum;
}

function kendall(a: readonly number[], b: readonly number[]): number {
  let [same, ta, tb, pairs] = [0, 0, 0, 0];
  for (let i = 0; i < a.length; i++)
    for (let j = 0; j < i; j++) {
      const x = Math.abs(a[i]! - a[j]!) <= 1e-6 ? 0 : Math.sign(a[i]! - a[j]!);
      const y = Math.abs(b[i]! - b[j]!) <= 1e-6 ? 0 : Math.sign(b[i]! - b[j]!);
      same += x * y;
      if (!x) ta++;
      if (!y) tb++;
      pairs++;
    }
  return same / (Math.sqrt((pairs - ta) * (pairs - tb)) || 1);
}

function overlap(a: readonly number[], b: readonly number[], k: number): number {
  const top = (v: readonly number[]): Set<number> =>
    new Set(
      v
        .map((_, i) => i)
        .sort((i, j) => v[j]! - v[i]! || i - j)
        .slice(0, k),
    );
  const other = top(b);
  return [...top(a)].filter((i) => other.has(i)).length;
}
