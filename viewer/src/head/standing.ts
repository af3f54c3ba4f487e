import { fitted, type Marks } from "../marks/marks.ts";
import { rgb, series } from "../palette.ts";
import type { AxisEntry, SiteEntry } from "../records.generated.ts";
import { keys, queries, type Scene, shown } from "../view.ts";
import { focus } from "./focus.ts";
import { chosen, faintness, index, LINE, type Link, on, TOP } from "./lines.ts";

/** Queries at the left, keys at the right. */
export function standing(m: Marks, s: Scene, at: SiteEntry, rows: number[], columns: number[]) {
  const { theme } = s;
  const [q, k] = [queries(s, at), keys(s, at)];
  const middle = Math.min(170, s.width * 0.3);
  const [left, right] = [middle, s.width - middle];
  const y = (i: number): number => TOP + i * LINE - s.scroll;
  const [rowAt, columnAt] = [index(rows, at.rows), index(columns, at.columns)];
  const pointed = focus(s, rows, columns);
  const heads = on(s, at);
  const { links, faint, top, complete } = chosen(s, at);
  const roomy = s.room || 1e6;
  m.clip(0, TOP - 4, s.width, roomy - TOP + 4, () => {
    shades(m, s, at, pointed, rowAt, columnAt, y, left, right);
    const ends = (l: Link): [number, number] => [y(rowAt[l.query]!) + LINE / 2, y(columnAt[l.key]!) + LINE / 2];
    for (const l of faint) {
      const [y1, y2] = ends(l);
      m.line(left + 4, y1, right - 4, y2, { stroke: theme.soft, alpha: faintness(l, top) });
    }
    for (const l of links) {
      const colour = at.heads > 1 ? series(l.head, at.heads, theme.dark) : theme.amount;
      const alpha = Math.max(0.04, Math.min(1, l.weight / (top || 1)));
      const [y1, y2] = ends(l);
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
    parts(m, s, q, rows, y, 2, left);
    parts(m, s, k, columns, y, right, s.width - 2);
    if (!links.length && heads.length)
      m.text(left + 20, TOP + 20, s.t(complete ? "no_lines" : "loading"), { fill: theme.soft });
  });
  m.rect(0, 0, s.width, TOP - 4, { fill: theme.paper });
  m.text(left - 5, 14, s.t(middle > 130 ? "queries_long" : "queries"), {
    align: "end",
    fill: theme.soft,
    size: 11,
  });
  m.text(right + 5, 14, s.t(middle > 130 ? "keys_long" : "keys"), { fill: theme.soft, size: 11 });
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
  const wide = Math.max(2, (left - 8) / Math.max(1, heads.length));
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

/** Where the second of two texts begins: a rule, and the letters by which the filter calls them. */
export function parts(
  m: Marks,
  s: Scene,
  axis: AxisEntry,
  list: readonly number[],
  y: (i: number) => number,
  from: number,
  to: number,
): void {
  if (new Set(axis.part).size < 2) return;
  list.forEach((place, i) => {
    if (i > 0 && axis.part[place] === axis.part[list[i - 1]!]) return;
    const x = from < 10 ? from + 4 : to - 12;
    m.text(x, y(i) + 13, axis.part[place] ? "B" : "A", { bold: true, size: 11, fill: s.theme.soft });
    if (i > 0) m.line(from, y(i) + 0.5, to, y(i) + 0.5, { stroke: s.theme.line, dash: [3, 3] });
  });
}
