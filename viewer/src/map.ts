/** Grids as rasters: amounts by their square root, differences by their sign. */

import type { Grid } from "./data.ts";
import type { Raster } from "./marks/marks.ts";
import type { Theme } from "./palette.ts";

const amounts = new WeakMap<Grid, Map<string, Raster>>();

/** Colours of a grid; `top` is the weight that gets the darkest one. */
export function amountRaster(grid: Grid, theme: Theme, top = grid.top): Raster {
  const key = `${theme.dark}:${top}`;
  return cached(grid, key, () => {
    const cells = new Uint8Array(grid.values.length);
    const scale = 255 / Math.sqrt(top || 1);
    for (let i = 0; i < cells.length; i++)
      cells[i] = Math.min(255, Math.sqrt(Math.max(0, grid.values[i]!)) * scale + 0.5);
    return { rows: grid.rows, columns: grid.columns, cells, colours: theme.amounts, blank: 0 };
  });
}

/** Colours of a difference: 127 is none. */
export function signRaster(grid: Grid, theme: Theme, top = grid.top): Raster {
  return cached(grid, `s${theme.dark}:${top}`, () => {
    const colours = theme.signs.filter((_, i) => i % 2 === 1); // 255 of them, the middle one is the paper
    const cells = Uint8Array.from(
      grid.values,
      (v) => 127 + Math.round(127 * Math.max(-1, Math.min(1, v / (top || 1)))),
    );
    return { rows: grid.rows, columns: grid.columns, cells, colours, blank: 127 };
  });
}

function cached(grid: Grid, key: string, make: () => Raster): Raster {
  let mine = amounts.get(grid);
  if (!mine) {
    mine = new Map();
    amounts.set(grid, mine);
  }
  const there = mine.get(key);
  if (there) return there;
  const made = make();
  mine.set(key, made);
  return made;
}

/** A small picture straight from its bytes. */
const thumbs = new WeakMap<Uint8Array, Map<string, Raster>>();
export function byteRaster(owner: Uint8Array, from: Uint8Array, rows: number, columns: number, theme: Theme): Raster {
  let mine = thumbs.get(owner);
  if (!mine) {
    mine = new Map();
    thumbs.set(owner, mine);
  }
  const key = `${theme.dark}:${from.byteOffset}`;
  let made = mine.get(key);
  if (!made) {
    made = { rows, columns, cells: from, colours: theme.amounts, blank: 0 };
    mine.set(key, made);
  }
  return made;
}
