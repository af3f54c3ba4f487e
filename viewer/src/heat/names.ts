/** Names along both sides of a heat map. */

import { fitted, type Marks } from "../marks/marks.ts";
import { columnNames } from "../named_map.ts";
import { keys, queries, type Scene, shown, site } from "../view.ts";
import { named, at as placed, width } from "./axis.ts";
import type { Frame } from "./frame.ts";

/** Room for one name beside another. */
export const NAME = 11;

/** Names along both sides: all of them, or as many as there is room for, and those under the lens. */
export function labels(m: Marks, s: Scene, f: Frame, rows: readonly number[], columns: readonly number[]): void {
  const at = site(s)!;
  const [q, k] = [queries(s, at), keys(s, at)];
  const { theme } = s;
  const hot = s.values.hover ?? s.values.locked;
  const size = Math.min(12, Math.max(NAME - 0.5, f.rows.cell - 0.5));
  for (const r of named(f.rows, rows.indexOf(hot?.query ?? -1), NAME).places) {
    const row = rows[r]!;
    const y = f.above + placed(f.rows, r) + width(f.rows, r) / 2;
    m.text(f.left - 5, y + size * 0.35, fitted(m, shown(q.names[row]), f.left - 8, size), {
      align: "end",
      size,
      bold: hot?.query === row,
      fill: q.special[row] ? theme.soft : theme.ink,
    });
  }
  const above = named(f.columns, columns.indexOf(hot?.key ?? -1), NAME).places.map((c) => ({
    text: shown(k.names[columns[c]!]),
    x: f.left + placed(f.columns, c) + width(f.columns, c) / 2,
    soft: !!k.special[columns[c]!],
    bold: hot?.key === columns[c],
  }));
  columnNames(m, above, f.above - 4, Math.max(f.columns.cell, NAME), f.above - 26, s);
}
