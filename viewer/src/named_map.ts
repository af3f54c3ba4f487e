/** A map with names along its sides, where they fit. */

import { fitted, type Marks, type Raster } from "./marks/marks.ts";
import type { AxisEntry, SiteEntry } from "./records.generated.ts";
import { keys, queries, type Scene, shown } from "./view.ts";

/** Room for names: left, above. */
export function mapMargins(s: Scene, at: SiteEntry): [number, number] {
  return named(at) ? [Math.min(96, s.width * 0.2), 62] : [8, 8];
}

const named = (at: SiteEntry): boolean => Math.max(at.rows, at.columns) <= 34;

export function namedMap(
  m: Marks,
  s: Scene,
  at: SiteEntry,
  raster: Raster,
  x: number,
  y: number,
  w: number,
  h: number,
  axes: [AxisEntry, AxisEntry] = [queries(s, at), keys(s, at)],
  rowNames = true,
): void {
  m.raster(x, y, w, h, raster);
  m.rect(x + 0.5, y + 0.5, w, h, { stroke: s.theme.line });
  const [q, k] = axes;
  const [down, across] = [h / q.names.length, w / k.names.length];
  if (down >= 10 && rowNames)
    q.names.forEach((name, i) => {
      const size = Math.min(12, down);
      m.text(x - 4, y + (i + 0.5) * down + size * 0.35, fitted(m, shown(name), 86, size), {
        align: "end",
        size,
        fill: s.theme.ink,
      });
    });
  if (across >= 9)
    k.names.forEach((name, i) => {
      const size = Math.min(12, across);
      m.text(x + (i + 0.7) * across, y - 4, fitted(m, shown(name), 60, size), { rotate: -60, size, fill: s.theme.ink });
    });
}
