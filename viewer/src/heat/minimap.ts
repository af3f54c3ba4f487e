/** The whole map, small, with a frame around the part in view: long texts are easy to get lost in. */

import type { Marks, Raster } from "../marks/marks.ts";
import type { Scene } from "../view.ts";

/** Places of a side from which on an overview stands below the map. */
export const LONG = 100;
export const HEIGHT = 66;

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** Drawn at the right end of the row of the legend. */
export function minimap(m: Marks, s: Scene, box: Box, raster: Raster | null): void {
  const { theme } = s;
  const { x, y, scale } = s.values.zoom;
  if (raster) m.raster(box.x, box.y, box.w, box.h, raster);
  m.rect(box.x + 0.5, box.y + 0.5, box.w, box.h, { stroke: theme.line });
  const frame = { stroke: theme.focus, width: 2 };
  m.rect(box.x + x * box.w, box.y + y * box.h, box.w / scale, box.h / scale, frame);
  if (m.measure(s.t("overview"), 11) < box.x - 150)
    m.text(box.x - 8, box.y + box.h, s.t("overview"), { align: "end", size: 11, fill: theme.soft });
}

/** The share of both sides that a point of the overview stands for. */
export function within(box: Box | null, x: number, y: number): [number, number] | null {
  if (!box) return null;
  const [a, b] = [(x - box.x) / box.w, (y - box.y) / box.h];
  return a >= 0 && a <= 1 && b >= 0 && b <= 1 ? [a, b] : null;
}
