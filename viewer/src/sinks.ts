/** Attention sinks of a writing model: columns that take much of every row, whatever stands there. */

import { allHeads } from "./heads.ts";
import type { SiteEntry } from "./records.generated.ts";
import type { Scene } from "./view.ts";

/** A sink takes at least this share of the rows after it, on average, and twice what an even row would give it. */
const SHARE = 0.3;
const TIMES = 2;

export function sinks(s: Scene, at: SiteEntry): number[] {
  const i = s.example.sites.indexOf(at);
  if (!s.example.made || at.kind !== "causal" || i < 0) return [];
  const grid = s.data.pooled(s.e, i, allHeads(at), "mean");
  if (!grid || grid.down > 1 || grid.across > 1) return [];
  return s.data.once(`sinks:${s.e}:${i}`, () => {
    const late = at.columns - at.rows;
    const out: number[] = [];
    for (let k = 0; k < at.columns; k++) {
      let [sum, even, n] = [0, 0, 0];
      for (let q = Math.max(0, k + 1 - late); q < at.rows; q++) {
        sum += grid.values[q * at.columns + k] ?? 0;
        even += 1 / (q + late + 1);
        n++;
      }
      if (n > 1 && sum / n >= SHARE && sum >= TIMES * even) out.push(k);
    }
    return out;
  });
}

/** Those that are left out of the picture now. */
export const hiddenSinks = (s: Scene, at: SiteEntry): number[] => (s.values.hideSinks ? sinks(s, at) : []);
