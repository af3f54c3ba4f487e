/** The lines of the head view: the heaviest within a budget, those of what is pointed at. */

import { allHeads, places } from "../attention.tsx";
import type { Grid } from "../data.ts";
import type { SiteEntry } from "../records.generated.ts";
import type { Scene } from "../view.ts";
import { focus } from "./focus.ts";

export const LINE = 18;
export const TOP = 24;
const BUDGET = 600;
const OUTSIDE = 96;
/** Lines of a picture whose threshold was not set by hand, and how many of them what is pointed at may have. */
const CALM = 60;
const OWN = 40;

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

/** The lines that are drawn: those of what is pointed at, and the heaviest of the others behind them. */
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
  /** Those of other places, drawn behind. */
  faint: Link[];
  /** Lines there are, of what is in focus or of everything. */
  total: number;
  least: number;
  top: number;
  complete: boolean;
}

const known = new WeakMap<object, { room: number; scroll: number; found: Chosen }>();
const NOTHING: Chosen = { links: [], faint: [], total: 0, least: 0, top: 0, complete: false };

export function sought(s: Scene, at: SiteEntry): Chosen {
  const { rows, columns } = places(s, at);
  const grids = new Map(on(s, at).map((h) => [h, s.data.head(s.e, s.values.site, h)]));
  if ([...grids.values()].some((g) => !g)) return NOTHING;
  const search = { s, at, grids: grids as Map<number, Grid>, rows, columns };
  const pointed = focus(s, rows, columns);
  const calm = s.values.threshold < 0;
  const [r0, r1] = window_(s, rows.length);
  const seen = rows.slice(r0, r1);
  if (!pointed) return { ...heaviest(search, seen, columns, calm ? CALM : BUDGET), faint: [] };
  const { query, key } = pointed;
  const [some, cols] = query === undefined ? [seen, [key!]] : [[query], columns];
  const own = heaviest(search, some, cols, calm ? OWN : BUDGET);
  const [others, otherCols] =
    query === undefined ? [seen, columns.filter((k) => k !== key)] : [seen.filter((q) => q !== query), columns];
  const budget = calm ? CALM - own.links.length : BUDGET - own.links.length;
  const rest = budget > 0 ? heaviest(search, others, otherCols, budget).links : [];
  const top = own.links.reduce((most, l) => Math.max(most, l.weight), 0);
  return { ...own, top, faint: rest };
}

interface Search {
  s: Scene;
  at: SiteEntry;
  grids: ReadonlyMap<number, Grid>;
  rows: readonly number[];
  columns: readonly number[];
}

/** The heaviest lines between these rows and columns; few of those that end outside the window. */
function heaviest(search: Search, some: readonly number[], cols: readonly number[], budget: number): Chosen {
  const { s, at, grids, columns } = search;
  const [c0, c1] = window_(s, columns.length);
  const least = Math.max(0, s.values.threshold);
  const inside = new Uint8Array(at.columns);
  for (const k of columns.slice(c0, c1)) inside[k] = 1;
  const counts = [new Uint32Array(256), new Uint32Array(256)];
  let top = 0;
  for (const g of grids.values()) if (g.top > top) top = g.top;
  const bins = 255 / Math.sqrt(top || 1);
  let total = 0;
  const each = (visit: (link: number, q: number, k: number, w: number, bin: number) => void): void => {
    for (const [h, g] of grids)
      for (const q of some) {
        const row = Math.floor(q / g.down) * g.columns;
        for (const k of cols) {
          const w = g.values[row + Math.floor(k / g.across)]!;
          if (w > least) visit(h, q, k, w, Math.min(255, Math.floor(Math.sqrt(w) * bins)));
        }
      }
  };
  each((_h, _q, k, _w, bin) => {
    counts[inside[k]!]![bin]!++;
    total++;
  });
  const away = counts[0]!.some((n) => n > 0) ? Math.min(OUTSIDE, Math.floor(budget / 4)) : 0;
  const most = [away, budget === BUDGET ? budget : budget - away];
  // bins above the floor are drawn whole, of the floor the heaviest that there is room for
  const floors = counts.map((count, side) => {
    let room = most[side]!;
    let b = 255;
    for (; b >= 1 && count[b]! <= room; b--) room -= count[b]!;
    return { bin: b, room };
  });
  const links: Link[] = [];
  const edges: Link[][] = [[], []];
  each((head, query, key, weight, bin) => {
    const side = inside[key]!;
    const { bin: lowest, room } = floors[side]!;
    if (bin > lowest) links.push({ query, key, head, weight });
    else if (bin === lowest && bin > 0 && room > 0) edges[side]!.push({ query, key, head, weight });
  });
  edges.forEach((edge, side) => {
    edge.sort((a, b) => b.weight - a.weight || a.query - b.query || a.key - b.key || a.head - b.head);
    links.push(...edge.slice(0, floors[side]!.room));
  });
  let lightest = links.length ? Number.POSITIVE_INFINITY : 0;
  for (const l of links) lightest = Math.min(lightest, l.weight);
  return { links, faint: [], total, least: lightest, top, complete: true };
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

/** Opacity of a line that is not in focus. */
export const faintness = (l: Link, top: number): number => 0.05 + 0.22 * Math.min(1, l.weight / (top || 1));

/** Where a place stands in a list, -1 where it does not. */
export function index(list: readonly number[], n: number): Int32Array {
  const out = new Int32Array(n).fill(-1);
  list.forEach((place, i) => {
    out[place] = i;
  });
  return out;
}
