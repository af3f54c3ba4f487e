import { fitted, type Marks } from "../marks/marks.ts";
import { rgb, series } from "../palette.ts";
import type { SiteEntry } from "../records.generated.ts";
import { keys, queries, type Scene, shown } from "../view.ts";
import { focus } from "./focus.ts";
import { chosen, faintness, index } from "./lines.ts";

/** As many places as fit, from the one that the user dragged to (or that is pointed at by keys). */
export function window_(
  s: Scene,
  rows: readonly number[],
  columns: readonly number[],
): { step: number; room: number; first: number } {
  const most = Math.max(1, rows.length, columns.length);
  const step = Math.max(13, Math.min(64, (s.width - 16) / most));
  const room = Math.min(most, Math.floor((s.width - 16) / step + 1e-6));
  return { step, room, first: Math.max(0, Math.min(most - room, Math.round(s.values.zoom.x * most))) };
}

/** For scripts that are read across: queries above, keys below. */
export function lying(m: Marks, s: Scene, at: SiteEntry, rows: number[], columns: number[]) {
  const { theme } = s;
  const [q, k] = [queries(s, at), keys(s, at)];
  const { step, room, first } = window_(s, rows, columns);
  const most = Math.max(rows.length, columns.length);
  const x = (i: number): number => 8 + (i - first + 0.5) * step;
  const inside = (i: number): boolean => i >= first && i < first + room;
  const [above, below] = [58, 190];
  const [rowAt, columnAt] = [index(rows, at.rows), index(columns, at.columns)];
  const pointed = focus(s, rows, columns);
  const { links, faint, top } = chosen(s, at);
  m.text(8, 14, s.t("queries_long"), { fill: theme.soft, size: 11 });
  m.text(8, 240, s.t("keys_long"), { fill: theme.soft, size: 11 });
  for (const l of faint) {
    const [i, j] = [rowAt[l.query]!, columnAt[l.key]!];
    if (inside(i) && inside(j)) m.line(x(i), above, x(j), below, { stroke: theme.soft, alpha: faintness(l, top) });
  }
  for (const l of links) {
    const [i, j] = [rowAt[l.query]!, columnAt[l.key]!];
    if (!inside(i) || !inside(j)) continue;
    const colour = at.heads > 1 ? series(l.head, at.heads, theme.dark) : theme.amount;
    const alpha = Math.max(0.04, Math.min(1, l.weight / (top || 1)));
    m.line(x(i), above, x(j), below, { stroke: rgb(colour), alpha, width: pointed ? 2 : 1.4 });
  }
  const name = (text: string, i: number, yy: number, lit: boolean, soft: boolean, up: boolean): void => {
    if (!inside(i)) return;
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
    m.text(s.width - 8, 14, s.t("places_window", { a: first, b: first + room - 1, m: most }), {
      align: "end",
      fill: theme.soft,
      size: 11,
    });
  return {
    hit(xx: number, y: number) {
      const i = Math.floor((xx - 8) / step) + first;
      if (!inside(i)) return null;
      if (y < 124) return rows[i] === undefined ? null : { query: rows[i]! };
      return columns[i] === undefined ? null : { key: columns[i]! };
    },
  };
}
