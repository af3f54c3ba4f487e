/** The lines of the head view: the heaviest within a budget, those of what is pointed at. */

import { allHeads, places } from "../attention.tsx";
import type { Grid } from "../data.ts";
import type { SiteEntry } from "../records.generated.ts";
import type { Scene } from "../view.ts";

export const LINE = 18;
export const TOP = 24;
const BUDGET = 600;
const OUTSIDE = 96;

export interface Link {
  query: number;
  key: number;
  head: number;
  weight: number;
}

/** Heads that are not switched off. */
export const on = (s: Scene, at: SiteEntry): number[] => allHeads(at).filter((h) => !s.values.off.includes(h));

/** The part of the rows and columns that is on the screen. */
function window_(s: Scene, n: number): [number, number] {
  if (!s.values.upright) return [0, n];
  const room = s.room || 600;
  return [Math.max(0, Math.floor((s.scroll - TOP) / LINE)), Math.min(n, Math.ceil((s.scroll + room - TOP) / LINE))];
}

/** The lines that are drawn: the heaviest within a budget; what is pointed at shows all of its own. */
export function chosen(s: Scene, at: SiteEntry): Chosen {
  const mine = known.get(s.values);
  if (mine && mine.room === s.room && mine.scroll === s.scroll) return mine.found;
  const found = sought(s, at);
  // several words and the picture ask for the same lines; while weights are on their way, they ask again
  if (found.complete) known.set(s.values, { room: s.room, scroll: s.scroll, found });
  return found;
}

export interface Chosen {
  links: Link[];
  total: number;
  least: number;
  top: number;
  complete: boolean;
}

const known = new WeakMap<object, { room: number; scroll: number; found: Chosen }>();

export function sought(s: Scene, at: SiteEntry): Chosen {
  const heads = on(s, at);
  const { rows, columns } = places(s, at);
  const pointed = s.values.hover ?? s.values.locked;
  const [r0, r1] = window_(s, rows.length);
  const [c0, c1] = window_(s, columns.length);
  let some = rows.slice(r0, r1);
  let cols = columns;
  if (pointed?.query !== undefined) some = [pointed.query];
  else if (pointed?.key !== undefined) cols = [pointed.key];
  const least = s.values.threshold;
  const inside = new Uint8Array(at.columns);
  for (const k of columns.slice(c0, c1)) inside[k] = 1;
  const counts = [new Uint32Array(256), new Uint32Array(256)];
  const grids: (Grid | null)[] = heads.map((h) => s.data.head(s.e, s.values.site, h));
  if (grids.some((g) => !g)) return { links: [], total: 0, least: 0, top: 0, complete: false };
  let top = 0;
  for (const g of grids) if (g && g.top > top) top = g.top;
  const bins = 255 / Math.sqrt(top || 1);
  let total = 0;
  const each = (visit: (link: number, q: number, k: number, w: number, bin: number) => void): void => {
    grids.forEach((g, i) => {
      if (!g) return;
      for (const q of some) {
        const row = Math.floor(q / g.down) * g.columns;
        for (const k of cols) {
          const w = g.values[row + Math.floor(k / g.across)]!;
          if (w > least) visit(heads[i]!, q, k, w, Math.min(255, Math.floor(Math.sqrt(w) * bins)));
        }
      }
    });
  };
  each((_h, _q, k, _w, bin) => {
    counts[inside[k]!]![bin]!++;
    total++;
  });
  const floor = (count: Uint32Array, budget: number): number => {
    let sum = 0;
    for (let b = 255; b >= 1; b--) {
      sum += count[b]!;
      if (sum > budget) return b + 1;
    }
    return 1;
  };
  const bars = [floor(counts[0]!, OUTSIDE), floor(counts[1]!, BUDGET)];
  const links: Link[] = [];
  each((head, query, key, weight, bin) => {
    if (bin >= bars[inside[key]!]!) links.push({ query, key, head, weight });
  });
  let lightest = links.length ? Number.POSITIVE_INFINITY : 0;
  for (const l of links) lightest = Math.min(lightest, l.weight);
  return { links, total, least: lightest, top, complete: true };
}

/** Mean weights between the target and every place of the other side, the strongest first. */
export function strongest(s: Scene, at: SiteEntry, heads: readonly number[], target: { query?: number; key?: number }) {
  const { rows, columns } = places(s, at);
  const list = target.query !== undefined ? columns : rows;
  const sums = list.map((place) => ({ place, weight: 0 }));
  for (const h of heads) {
    const g = s.data.head(s.e, s.values.site, h);
    if (!g) continue;
    for (const x of sums) {
      const [q, k] = target.query !== undefined ? [target.query, x.place] : [x.place, target.key ?? 0];
      x.weight += (g.values[Math.floor(q / g.down) * g.columns + Math.floor(k / g.across)] ?? 0) / heads.length;
    }
  }
  return sums.sort((a, b) => b.weight - a.weight || a.place - b.place);
}

/** Where a place stands in a list, -1 where it does not. */
export function index(list: readonly number[], n: number): Int32Array {
  const out = new Int32Array(n).fill(-1);
  list.forEach((place, i) => {
    out[place] = i;
  });
  return out;
}
