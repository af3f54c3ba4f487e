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
      const size = Math.min(12, down - 0.5);
      m.text(x - 4, y + (i + 0.5) * down + size * 0.35, fitted(m, shown(name), Math.min(86, x - 6), size), {
        align: "end",
        size,
        fill: s.theme.ink,
      });
    });
  columnNames(
    m,
    k.names.map((name, i) => ({ text: shown(name), x: x + (i + 0.5) * across, soft: false, bold: false })),
    y - 4,
    across,
    60,
    s,
  );
}

/** Names above the columns of a map: slanted, or upright where the columns are narrow; none where they are too narrow. */
export function columnNames(
  m: Marks,
  names: readonly { text: string; x: number; soft: boolean; bold: boolean }[],
  y: number,
  cell: number,
  room: number,
  s: Scene,
): void {
  if (cell < 9) return;
  const upright = cell < 14;
  const size = Math.min(upright ? 10.5 : 12, cell - 0.5);
  for (const { text, x, soft, bold } of names) {
    // a slanted name leans to the right: it must not leave the picture
    const most = upright ? room : Math.min(room, (s.width - x) / 0.5 - 4);
    m.text(x + size * (upright ? 0.35 : 0.2), y, fitted(m, text, most, size), {
      rotate: upright ? -90 : -60,
      size,
      bold,
      fill: soft ? s.theme.soft : s.theme.ink,
    });
  }
}
