/** The one place that the head view is about: pointed at, locked, or where it opens. */

import type { SiteEntry } from "../records.generated.ts";
import type { Target } from "../state.ts";
import type { Scene } from "../view.ts";

/** Where a fresh head view looks: the row that the answer reads, the last of a causal model, else the first word. */
export function firstFocus(s: Scene, at: SiteEntry, rows: readonly number[]): Target | null {
  const special = s.example.axes[at.queries]?.special ?? [];
  const reads = at.reading.find((row) => rows.includes(row));
  const words = rows.filter((row) => !special[row]);
  const query = reads ?? (at.kind === "causal" ? rows.at(-1) : (words[0] ?? rows[0]));
  return query === undefined ? null : { query };
}

/** What is pointed at or locked, if it is on the picture. */
export function focus(s: Scene, rows: readonly number[], columns: readonly number[]): Target | null {
  const target = s.values.hover ?? s.values.locked;
  if (target?.query !== undefined) return rows.includes(target.query) ? { query: target.query } : null;
  if (target?.key !== undefined) return columns.includes(target.key) ? { key: target.key } : null;
  return null;
}
