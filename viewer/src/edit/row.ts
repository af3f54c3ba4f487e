/** The row of attention that is edited, and what it holds. */

import { allHeads } from "../attention.tsx";
import type { Data, Grid } from "../data.ts";
import { type Scene, site } from "../view.ts";

/** The row that is edited: what the user picked, what the answer reads, else the first. */
export function query(s: Scene): number {
  const at = site(s)!;
  if (s.values.from >= 0 && s.values.from < at.rows) return s.values.from;
  return at.reading[0] ?? (at.kind === "causal" ? at.rows - 1 : 0);
}

export function row(s: Scene, data: Data, e: number): Float32Array | null {
  const at = site(s)!;
  const one = s.values.pool === "one";
  const grid: Grid | null = data.pooled(
    e,
    s.values.site,
    one ? [Math.min(s.values.head, at.heads - 1)] : allHeads(at),
    one ? "one" : "mean",
  );
  return grid === null ? null : grid.values.subarray(query(s) * grid.columns, (query(s) + 1) * grid.columns);
}
