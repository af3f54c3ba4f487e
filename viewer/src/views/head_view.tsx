import { allHeads, Controls, places, selection } from "../attention.tsx";
import type { Grid } from "../data.ts";
import { fitted, type Marks } from "../marks/marks.ts";
import { luminance, rgb, series } from "../palette.ts";
import { Toggle } from "../parts.tsx";
import type { SiteEntry } from "../records.generated.ts";
import {
  type Context,
  headName,
  keys,
  number,
  queries,
  type Scene,
  shown,
  site,
  type Table,
  type View,
} from "../view.ts";

const LINE = 18;
const BUDGET = 600;
const OUTSIDE = 96;
const TOP = 24;

interface Link {
  query: number;
  key: number;
  head: number;
  weight: number;
}

const on = (s: Scene, at: SiteEntry): number[] => allHeads(at).filter((h) => !s.values.off.includes(h));

const view: View = {
  name: "head_view",
  title: "Head view",
  order: 1,
  attention: true,
  needs: (_, example) => (example.sites.length ? null : "no attention was kept for this example"),
  height(s) {
    const at = site(s)!;
    if (!s.values.upright) return 250;
    const { rows, columns } = places(s, at);
    return TOP + Math.max(rows.length, columns.length, 4) * LINE + 8;
  },
  draw(m, s) {
    const at = site(s)!;
    const { rows, columns } = places(s, at);
    return s.values.upright ? standing(m, s, at, rows, columns) : lying(m, s, at, rows, columns);
  },
  declared(s) {
    const at = site(s);
    if (!at) return "";
    const heads = on(s, at);
    const which =
      heads.length === at.heads
        ? at.heads === 1
          ? s.t("its only head")
          : s.t("all {n} heads", { n: at.heads })
        : `${s.t("heads")} ${heads.join(", ") || s.t("none")}`;
    const found = chosen(s, at);
    const lines = found.total
      ? s.t("{n} of {m} lines drawn, the heaviest (from {w})", {
          n: found.links.length,
          m: found.total,
          w: number(found.least),
        })
      : "";
    const base = selection({ ...s, values: { ...s.values, pool: "one", layers: "one", head: 0 } }).split("; ");
    base[1] = which;
    return [...base, s.t("opacity: weight / {w}", { w: number(found.top) }), lines].filter(Boolean).join("; ");
  },
  say(target, s) {
    const at = site(s);
    if (!at) return "";
    const [q, k] = [queries(s, at), keys(s, at)];
    const heads = on(s, at);
    const row = target.query;
    const list = strongest(s, at, heads, target).slice(0, 5);
    const words = list
      .map((x) => `${shown((row === undefined ? q : k).names[x.place])} ${number(x.weight)}`)
      .join(", ");
    const what = row === undefined ? s.t("is looked at most by") : s.t("looks most at");
    const name = row === undefined ? shown(k.names[target.key ?? 0]) : shown(q.names[row]);
    return `${name} ${what}: ${words} (${s.t("mean of {n} heads", { n: heads.length })})`;
  },
  table(s): Table | null {
    const at = site(s);
    if (!at) return null;
    const [q, k] = [queries(s, at), keys(s, at)];
    const { links } = sought({ ...s, scroll: 0, room: 1e9 }, at);
    const sorted = [...links].sort((a, b) => b.weight - a.weight || a.query - b.query || a.key - b.key).slice(0, 60);
    return {
      caption: s.t("The {n} heaviest lines", { n: sorted.length }),
      columns: [s.t("head"), s.t("query"), s.t("key"), s.t("weight")],
      rows: sorted.map((l) => [
        headName(at, l.head),
        shown(q.names[l.query]),
        shown(k.names[l.key]),
        Number(l.weight.toFixed(6)),
      ]),
    };
  },
  controls: (c) => (
    <>
      <Controls c={c} heads={false} pooling={false} threshold />
      <Squares c={c} />
      <Toggle
        label={c.t("Upright")}
        value={c.state.upright.value}
        pick={(v) => {
          c.state.upright.value = v;
        }}
      />
    </>
  ),
  top(target, s) {
    const at = site(s)!;
    if (!s.values.upright) return null;
    const { rows, columns } = places(s, at);
    const i = target.query === undefined ? columns.indexOf(target.key ?? -1) : rows.indexOf(target.query);
    return TOP + i * LINE;
  },
  key(key, c) {
    const at = site(c)!;
    const { rows, columns } = places(c, at);
    const old = c.state.hover.value;
    const side = old?.key !== undefined && old.query === undefined ? "key" : "query";
    const list = side === "key" ? columns : rows;
    const now = side === "key" ? old?.key : old?.query;
    const [back, on] = c.state.upright.value ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
    const [there, other] = c.state.upright.value ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    if (key === back || key === on) {
      const i =
        now === undefined ? 0 : Math.min(list.length - 1, Math.max(0, list.indexOf(now) + (key === on ? 1 : -1)));
      c.state.hover.value = side === "key" ? { key: list[i]! } : { query: list[i]! };
    } else if (key === there || key === other) {
      const place = Math.min(now ?? 0, (key === there ? at.rows : at.columns) - 1);
      c.state.hover.value =
        key === there
          ? { query: rows.includes(place) ? place : rows[0]! }
          : { key: columns.includes(place) ? place : columns[0]! };
    } else if (key === "Enter" || key === " ") c.state.locked.value = c.state.hover.value;
    else if (/^[0-9]$/.test(key)) toggle(c, Number(key));
    else return false;
    return true;
  },
};
export default view;

function toggle(c: Context, h: number): void {
  const off = c.state.off.value;
  c.state.off.value = off.includes(h) ? off.filter((x) => x !== h) : [...off, h];
}

/** One coloured square per head; Shift shows only that one. */
function Squares(props: { c: Context }) {
  const { c } = props;
  const at = site(c)!;
  if (at.heads < 2) return null;
  const heads = allHeads(at);
  return (
    <span class="squares" role="group" aria-label={c.t("Heads (double click: only this one)")}>
      {heads.map((h) => {
        const colour = series(h, at.heads, c.theme.dark);
        const lit = luminance(colour) > 0.179; // where black and white are equally readable
        return (
          <button
            key={h}
            type="button"
            aria-pressed={!c.state.off.value.includes(h)}
            aria-label={headName(at, h)}
            title={headName(at, h)}
            style={{ background: rgb(colour), borderColor: rgb(colour), color: lit ? "#000" : "#fff" }}
            onClick={() => toggle(c, h)}
            onDblClick={() => {
              c.state.off.value = heads.filter((x) => x !== h);
            }}
          >
            {h}
          </button>
        );
      })}
      <button
        type="button"
        class="all"
        title={c.t("all heads")}
        onClick={() => {
          c.state.off.value = c.state.off.value.length ? [] : heads;
        }}
      >
        {c.state.off.value.length ? "∀" : "∅"}
      </button>
    </span>
  );
}

/** The part of the rows and columns that is on the screen. */
function window_(s: Scene, n: number): [number, number] {
  if (!s.values.upright) return [0, n];
  const room = s.room || 600;
  return [Math.max(0, Math.floor((s.scroll - TOP) / LINE)), Math.min(n, Math.ceil((s.scroll + room - TOP) / LINE))];
}

/** The lines that are drawn: the heaviest within a budget; what is pointed at shows all of its own. */
function chosen(s: Scene, at: SiteEntry): Chosen {
  const mine = known.get(s.values);
  if (mine && mine.room === s.room && mine.scroll === s.scroll) return mine.found;
  const found = sought(s, at);
  // several words and the picture ask for the same lines; while weights are on their way, they ask again
  if (found.complete) known.set(s.values, { room: s.room, scroll: s.scroll, found });
  return found;
}

interface Chosen {
  links: Link[];
  total: number;
  least: number;
  top: number;
  complete: boolean;
}

const known = new WeakMap<object, { room: number; scroll: number; found: Chosen }>();

function sought(s: Scene, at: SiteEntry): Chosen {
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
function strongest(s: Scene, at: SiteEntry, heads: readonly number[], target: { query?: number; key?: number }) {
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

function standing(m: Marks, s: Scene, at: SiteEntry, rows: number[], columns: number[]) {
  const { theme } = s;
  const [q, k] = [queries(s, at), keys(s, at)];
  const middle = Math.min(170, s.width * 0.3);
  const [left, right] = [middle, s.width - middle];
  const y = (i: number): number => TOP + i * LINE - s.scroll;
  const [rowAt, columnAt] = [index(rows, at.rows), index(columns, at.columns)];
  const pointed = s.values.hover ?? s.values.locked;
  const heads = on(s, at);
  const { links, top, complete } = chosen(s, at);
  const roomy = s.room || 1e6;
  m.clip(0, TOP - 4, s.width, roomy - TOP + 4, () => {
    shades(m, s, at, pointed, rowAt, columnAt, y, left, right);
    for (const l of links) {
      const colour = at.heads > 1 ? series(l.head, at.heads, theme.dark) : theme.amount;
      const alpha = Math.max(0.04, Math.min(1, l.weight / (top || 1)));
      const [y1, y2] = [y(rowAt[l.query]!) + LINE / 2, y(columnAt[l.key]!) + LINE / 2];
      m.line(left + 4, y1, right - 4, y2, { stroke: rgb(colour), alpha, width: pointed ? 2 : 1.4 });
    }
    const name = (axis: typeof q, place: number, i: number, x: number, align: "start" | "end", lit: boolean): void => {
      if (y(i) < TOP - LINE || y(i) > roomy) return;
      if (lit) m.rect(align === "end" ? 2 : right, y(i) + 1, middle - 4, LINE - 2, { stroke: theme.focus, width: 1.5 });
      const text = fitted(m, shown(axis.names[place]), middle - 14);
      m.text(x, y(i) + 13, text, { align, bold: lit, fill: axis.special[place] ? theme.soft : theme.ink });
    };
    rows.forEach((place, i) => name(q, place, i, left - 5, "end", pointed?.query === place));
    columns.forEach((place, i) =>
      name(k, place, i, right + 5, "start", pointed?.query === undefined && pointed?.key === place),
    );
    if (!links.length && heads.length)
      m.text(left + 20, TOP + 20, s.t(complete ? "no line reaches the threshold" : "loading…"), { fill: theme.soft });
  });
  m.rect(0, 0, s.width, TOP - 4, { fill: theme.paper });
  m.text(left - 5, 14, s.t(middle > 130 ? "queries: who looks" : "queries"), {
    align: "end",
    fill: theme.soft,
    size: 11,
  });
  m.text(right + 5, 14, s.t(middle > 130 ? "keys: what is looked at" : "keys"), { fill: theme.soft, size: 11 });
  return {
    hit(x: number, yy: number) {
      const i = Math.floor((yy + s.scroll - TOP) / LINE);
      if (yy < TOP || i < 0) return null;
      if (x < s.width / 2) return rows[i] === undefined ? null : { query: rows[i]! };
      return columns[i] === undefined ? null : { key: columns[i]! };
    },
  };
}

/** Behind the names of the other side: how much of the weight each gets, a stripe per head. */
function shades(
  m: Marks,
  s: Scene,
  at: SiteEntry,
  pointed: { query?: number; key?: number } | null,
  rowAt: Int32Array,
  columnAt: Int32Array,
  y: (i: number) => number,
  left: number,
  right: number,
): void {
  if (!pointed) return;
  const heads = on(s, at);
  const byRow = pointed.query !== undefined;
  const wide = Math.max(2, Math.min(12, (left - 8) / Math.max(1, heads.length)));
  heads.forEach((h, i) => {
    const g = s.data.head(s.e, s.values.site, h);
    if (!g) return;
    const colour = at.heads > 1 ? series(h, at.heads, s.theme.dark) : s.theme.amount;
    const n = byRow ? at.columns : at.rows;
    for (let p = 0; p < n; p++) {
      const place = byRow ? columnAt[p]! : rowAt[p]!;
      if (place < 0) continue;
      const yy = y(place);
      if (yy < -LINE || yy > (s.room || 1e6)) continue;
      const [q, k] = byRow ? [pointed.query!, p] : [p, pointed.key ?? 0];
      const w = g.values[Math.floor(q / g.down) * g.columns + Math.floor(k / g.across)] ?? 0;
      if (w < 0.002) continue;
      const x = byRow ? right + 3 + i * wide : left - 3 - (i + 1) * wide;
      m.rect(x, yy + 1, wide, LINE - 2, { fill: rgb(colour), alpha: Math.min(0.75, w) });
    }
  });
}

/** For scripts that are read across: queries above, keys below. */
function lying(m: Marks, s: Scene, at: SiteEntry, rows: number[], columns: number[]) {
  const { theme } = s;
  const [q, k] = [queries(s, at), keys(s, at)];
  const most = Math.max(rows.length, columns.length);
  const step = Math.max(13, Math.min(64, (s.width - 16) / Math.max(1, most)));
  const room = Math.floor((s.width - 16) / step);
  const x = (i: number): number => 8 + (i + 0.5) * step;
  const [above, below] = [58, 190];
  const [rowAt, columnAt] = [index(rows, at.rows), index(columns, at.columns)];
  const pointed = s.values.hover ?? s.values.locked;
  const { links, top } = chosen(s, at);
  m.text(8, 14, s.t("queries: who looks"), { fill: theme.soft, size: 11 });
  m.text(8, 240, s.t("keys: what is looked at"), { fill: theme.soft, size: 11 });
  for (const l of links) {
    const [i, j] = [rowAt[l.query]!, columnAt[l.key]!];
    if (i >= room || j >= room) continue;
    const colour = at.heads > 1 ? series(l.head, at.heads, theme.dark) : theme.amount;
    const alpha = Math.max(0.04, Math.min(1, l.weight / (top || 1)));
    m.line(x(i), above, x(j), below, { stroke: rgb(colour), alpha, width: pointed ? 2 : 1.4 });
  }
  const name = (text: string, i: number, yy: number, lit: boolean, soft: boolean, up: boolean): void => {
    if (i >= room) return;
    const style = { fill: soft ? theme.soft : theme.ink, bold: lit };
    const fits = m.measure(text) <= step - 2;
    if (fits) m.text(x(i), yy, text, { ...style, align: "middle" });
    else m.text(x(i) + 4, yy, fitted(m, text, 44), { ...style, rotate: -50, align: up ? "start" : "end" });
    if (lit) m.line(x(i) - step / 2 + 1, yy + 4, x(i) + step / 2 - 1, yy + 4, { stroke: theme.focus, width: 2 });
  };
  rows.forEach((place, i) =>
    name(shown(q.names[place]), i, above - 6, pointed?.query === place, !!q.special[place], true),
  );
  columns.forEach((place, i) =>
    name(
      shown(k.names[place]),
      i,
      below + 16,
      pointed?.query === undefined && pointed?.key === place,
      !!k.special[place],
      false,
    ),
  );
  if (most > room)
    m.text(s.width - 8, 14, s.t("the first {n} of {m}", { n: room, m: most }), {
      align: "end",
      fill: theme.soft,
      size: 11,
    });
  return {
    hit(xx: number, y: number) {
      const i = Math.floor((xx - 8) / step);
      if (i < 0 || i >= room) return null;
      if (y < 124) return rows[i] === undefined ? null : { query: rows[i]! };
      return columns[i] === undefined ? null : { key: columns[i]! };
    },
  };
}

function index(list: readonly number[], n: number): Int32Array {
  const out = new Int32Array(n).fill(-1);
  list.forEach((place, i) => {
    out[place] = i;
  });
  return out;
}
