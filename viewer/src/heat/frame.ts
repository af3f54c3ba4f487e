/** Where the parts of a heat map stand on the screen. */

import { LEGEND } from "../legend.ts";
import type { Scene } from "../view.ts";
import { type Axis, axis } from "./axis.ts";
import { type Box, HEIGHT, LONG } from "./minimap.ts";

/** Pixels that the map may take, and those of one place where there are few. */
const TALLEST = 470;
const LARGEST_CELL = [72, 34] as const;
export interface Frame {
  left: number;
  above: number;
  rows: Axis;
  columns: Axis;
  /** Where the overview stands, if there is one. */
  overview: Box | null;
}

/** A part of the map whose places have one size: where it is on the screen, and where the whole map would begin. */
export interface Pane extends Box {
  cell: [number, number];
  corner: [number, number];
}

/** Where things are: depends on names and sizes only, not on data. */
export function frame(s: Scene, rows: readonly number[], columns: readonly number[]): Frame {
  const left = Math.min(120, s.width * 0.25);
  const above = 84;
  const room = Math.max(60, s.width - left - 26);
  const long = Math.max(rows.length, columns.length) > LONG;
  const tall = Math.min(TALLEST - (long ? HEIGHT - LEGEND : 0), LARGEST_CELL[1] * rows.length);
  // one row (a pooling) is drawn as a band that can be seen
  const height = rows.length === 1 ? 30 : tall;
  const most = rows.length === 1 ? 72 : Math.min(LARGEST_CELL[0], (2.4 * height) / Math.max(1, rows.length));
  const width = Math.min(room, Math.max(most, 2) * columns.length);
  const { x, y, scale } = s.values.zoom;
  const hot = s.values.hover ?? s.values.locked;
  const place = (list: readonly number[], one: number | undefined): number =>
    one === undefined || s.still ? -1 : list.indexOf(one);
  const small = Math.min(140, room / 3);
  return {
    left,
    above,
    rows: axis(rows.length, height, { from: y, scale }, rows.length === 1 ? -1 : place(rows, hot?.query)),
    columns: axis(columns.length, width, { from: x, scale }, place(columns, hot?.key)),
    overview: long ? { x: left + width - small, y: above + height + 10, w: small, h: HEIGHT - 20 } : null,
  };
}

/** The map in parts: one, or up to nine around a lens. */
export function panes(f: Frame): Pane[] {
  return f.rows.runs.flatMap((r) =>
    f.columns.runs.map((c): Pane => {
      const [x, y] = [f.left + c.at, f.above + r.at];
      const corner: [number, number] = [x - c.first * c.cell, y - r.first * r.cell];
      return { x, y, w: (c.end - c.first) * c.cell, h: (r.end - r.first) * r.cell, cell: [c.cell, r.cell], corner };
    }),
  );
}
