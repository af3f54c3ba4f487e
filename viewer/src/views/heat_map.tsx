import { Controls, exactly, picked, selection } from "../attention.tsx";
import { amountLegend, LEGEND } from "../legend.ts";
import { fitted, type Marks, type Raster } from "../marks/marks.ts";
import { columnNames } from "../named_map.ts";
import { Button } from "../parts.tsx";
import type { SiteEntry } from "../records.generated.ts";
import { type Context, keys, number, queries, type Scene, shown, site, type Table, type View } from "../view.ts";

const TALLEST = 520;
const TILE = 256;

interface Frame {
  left: number;
  above: number;
  /** Size of the map on the screen and of one cell. */
  side: [number, number];
  cell: [number, number];
  /** First row and column in view, as numbers with a fraction. */
  from: [number, number];
}

/** Where things are: depends on names and sizes only, not on data. */
function frame(s: Scene, rows: number, columns: number): Frame {
  const labels = Math.max(rows, columns) <= 80 || s.values.zoom.scale > 1;
  const left = labels ? Math.min(120, s.width * 0.25) : 58;
  const above = labels ? 84 : 36;
  const room = Math.max(60, s.width - left - (labels ? 26 : 8));
  const square = Math.min(room / columns, (TALLEST - above - LEGEND) / Math.max(rows, 1), 26);
  // one row (a pooling) is drawn as a band that can be seen
  const cellX = rows === 1 ? Math.min(room / columns, 44) : square;
  const cellY = rows === 1 ? 30 : square;
  const { x, y, scale } = s.values.zoom;
  return {
    left,
    above,
    side: [cellX * columns, cellY * rows],
    cell: [cellX * scale, cellY * scale],
    from: [y * rows, x * columns],
  };
}

const view: View = {
  name: "heat_map",
  title: "view_heat_map",
  order: 3,
  attention: () => true,
  needs: (_, example) => (example.sites.length ? null : "no_attention"),
  height(s) {
    const { rows, columns } = picked(s);
    const f = frame(s, rows.length, columns.length);
    return f.above + f.side[1] + LEGEND + 8;
  },
  draw(m, s) {
    const { at, grid, rows, columns } = picked(s);
    const f = frame(s, rows.length, columns.length);
    const { theme } = s;
    m.text(f.left, 12, `${s.t("keys_long")} →`, { fill: theme.soft, size: 11 });
    m.text(4, f.above - 6, `${s.t("queries")} ↓`, { fill: theme.soft, size: 11 });
    m.clip(f.left, f.above, f.side[0], f.side[1], () => {
      if (tiled(s, at)) drawTiles(m, s, f);
      else if (grid) m.raster(...box(f, rows.length, columns.length), cells(s, rows, columns));
      else m.text(f.left + 8, f.above + 20, s.t("loading"), { fill: theme.soft });
      if (at.kind === "causal") masked(m, s, f, rows, columns);
    });
    m.rect(f.left + 0.5, f.above + 0.5, f.side[0], f.side[1], { stroke: theme.line });
    labels(m, s, f, rows, columns);
    const top = grid?.top ?? Math.max(...at.tops, 0);
    amountLegend(m, theme, f.left, f.above + f.side[1] + 8, top, s.t("weight_root"), s.width);
    for (const target of [s.values.locked, s.values.hover]) {
      if (target?.query === undefined || target.key === undefined) continue;
      const [r, c] = [rows.indexOf(target.query), columns.indexOf(target.key)];
      const [x, y] = [f.left + (c - f.from[1]) * f.cell[0], f.above + (r - f.from[0]) * f.cell[1]];
      if (r < 0 || c < 0) continue;
      m.clip(f.left, f.above, f.side[0], f.side[1], () => {
        const shape = { stroke: theme.focus, width: 2 };
        m.rect(x, y, Math.max(3, f.cell[0]), Math.max(3, f.cell[1]), shape);
        m.line(f.left, y + f.cell[1] / 2, x, y + f.cell[1] / 2, { ...shape, width: 1, alpha: 0.6 });
        m.line(x + f.cell[0] / 2, f.above, x + f.cell[0] / 2, y, { ...shape, width: 1, alpha: 0.6 });
      });
    }
    return {
      hit(x, y) {
        const c = Math.floor((x - f.left) / f.cell[0] + f.from[1]);
        const r = Math.floor((y - f.above) / f.cell[1] + f.from[0]);
        const inside = x >= f.left && y >= f.above && x < f.left + f.side[0] && y < f.above + f.side[1];
        const [query, key] = [rows[r], columns[c]];
        return inside && query !== undefined && key !== undefined ? { query, key } : null;
      },
    };
  },
  declared(s) {
    const { at, grid } = picked(s);
    const pooledNow = grid && (grid.down > 1 || grid.across > 1);
    const more =
      pooledNow && !tiled(s, at) ? `; ${s.t("pooled_blocks", { r: ceil(grid.down), c: ceil(grid.across) })}` : "";
    const zoom = s.values.zoom.scale > 1 ? `; ${s.t("zoom_n", { n: s.values.zoom.scale.toFixed(1) })}` : "";
    const grey = at.kind === "causal" ? `; ${s.t("grey_masked")}` : "";
    return `${selection(s)}${more}${zoom}${grey}`;
  },
  say(target, s) {
    const at = site(s);
    if (!at || target.query === undefined || target.key === undefined) return "";
    const value = weight(s, target.query, target.key);
    const [q, k] = [shown(queries(s, at).names[target.query]), shown(keys(s, at).names[target.key])];
    const locked = s.values.locked ? ` · ${s.t("locked")}` : "";
    const block = value === null ? "" : pooledCell(s, at, target.query, target.key);
    const said =
      value === null ? "…" : block ? `${block} ${number(value)}` : exactly(s, at, target.query, target.key, value);
    return `${q} (${target.query}) → ${k} (${target.key}): ${said}${locked}`;
  },
  table: links,
  controls: (c) => (
    <>
      <Controls c={c} />
      <span class="squares">
        <Button click={() => zoomed(c, 1.5, 0.5, 0.5)} title={c.t("zoom_in")}>
          +
        </Button>
        <Button click={() => zoomed(c, 1 / 1.5, 0.5, 0.5)} title={c.t("zoom_out")}>
          −
        </Button>
      </span>
    </>
  ),
  key(key, c) {
    const { rows, columns } = picked(c);
    if (key === "+" || key === "=") zoomed(c, 1.5, 0.5, 0.5);
    else if (key === "-") zoomed(c, 1 / 1.5, 0.5, 0.5);
    else if (key === "Enter" || key === " ") c.state.locked.value = c.state.hover.value;
    else {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[key];
      if (!step) return false;
      const old = c.state.hover.value ?? c.state.locked.value;
      const first = old?.query === undefined || old.key === undefined;
      const r = first ? 0 : clamp(rows.indexOf(old.query!) + step[0]!, 0, rows.length - 1);
      const k = first ? 0 : clamp(columns.indexOf(old.key!) + step[1]!, 0, columns.length - 1);
      c.state.hover.value = { query: rows[r]!, key: columns[k]! };
    }
    return true;
  },
  click(target, c) {
    const old = c.state.locked.value;
    c.state.locked.value = old && old.query === target.query && old.key === target.key ? null : target;
  },
  wheel(x, y, turn, c) {
    const { rows, columns } = picked(c);
    const f = frame(c, rows.length, columns.length);
    zoomed(c, turn > 0 ? 1.25 : 0.8, (x - f.left) / f.side[0], (y - f.above) / f.side[1]);
  },
  pan(dx, dy, c) {
    const { rows, columns } = picked(c);
    const f = frame(c, rows.length, columns.length);
    const { x, y, scale } = c.state.zoom.value;
    c.state.zoom.value = kept(x - dx / f.side[0] / scale, y - dy / f.side[1] / scale, scale);
  },
};
export default view;

const ceil = (value: number): number => Math.ceil(value - 1e-9);
const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

function tiled(s: Scene, at: NonNullable<ReturnType<typeof site>>): boolean {
  const { pool, layers, head, hideSpecial, pair } = s.values;
  const one = pool === "one" && layers === "one" && !hideSpecial && pair === "all" && !s.still;
  return one && at.storage === "tiles" && at.full.includes(head);
}

/** The map on the screen: x, y, width, height of the whole grid, most of it outside when zoomed. */
function box(f: Frame, rows: number, columns: number): [number, number, number, number] {
  return [f.left - f.from[1] * f.cell[0], f.above - f.from[0] * f.cell[1], f.cell[0] * columns, f.cell[1] * rows];
}

function cells(s: Scene, rows: readonly number[], columns: readonly number[]): Raster {
  const v = s.values;
  const key = `map:${s.e}:${v.site}:${v.head}:${v.pool}:${v.layers}:${v.hideSpecial}:${v.pair}:${v.step}:${s.theme.dark}`;
  return s.data.once(key, () => {
    const grid = picked(s).grid!;
    const coarse = grid.down > 1 || grid.across > 1;
    const h = coarse ? grid.rows : rows.length;
    const w = coarse ? grid.columns : columns.length;
    const out = new Uint8Array(h * w);
    const scale = 255 / Math.sqrt(grid.top || 1);
    for (let r = 0; r < h; r++) {
      const row = (coarse ? r : rows[r]!) * grid.columns;
      for (let c = 0; c < w; c++)
        out[r * w + c] = Math.sqrt(grid.values[row + (coarse ? c : columns[c]!)]!) * scale + 0.5;
    }
    return { rows: h, columns: w, cells: out, colours: s.theme.amounts, blank: 0 };
  });
}

/** Only the tiles that are in view, at the level that the screen can show. */
function drawTiles(m: Marks, s: Scene, f: Frame): void {
  const at = site(s)!;
  let level = 0;
  while (level < at.levels - 1 && f.cell[0] * 2 ** level < 0.75) level++;
  const [rows, columns] = s.data.levelSize(s.e, s.values.site, level);
  const step = 2 ** level;
  const [w, h] = [f.cell[0] * step, f.cell[1] * step];
  const [x0, y0] = [f.left - f.from[1] * f.cell[0], f.above - f.from[0] * f.cell[1]];
  for (let r = 0; r * TILE < rows; r++)
    for (let c = 0; c * TILE < columns; c++) {
      const [tall, wide] = [Math.min(TILE, rows - r * TILE), Math.min(TILE, columns - c * TILE)];
      const [x, y] = [x0 + c * TILE * w, y0 + r * TILE * h];
      if (x > f.left + f.side[0] || y > f.above + f.side[1] || x + wide * w < f.left || y + tall * h < f.above)
        continue;
      const bytes = s.data.tile(s.e, s.values.site, s.values.head, level, r, c);
      if (!bytes) continue;
      const key = `tile:${s.e}:${s.values.site}:${s.values.head}:${level}:${r}:${c}:${s.theme.dark}`;
      const raster = s.data.once<Raster>(key, () => ({
        rows: tall,
        columns: wide,
        cells: bytes,
        colours: s.theme.amounts,
      }));
      m.raster(x, y, wide * w, tall * h, raster);
    }
}

/** What a causal row may not look at is grey, not "nothing". */
function masked(m: Marks, s: Scene, f: Frame, rows: readonly number[], columns: readonly number[]): void {
  const points: number[] = [];
  const [x, y, w] = box(f, rows.length, columns.length);
  const at = site(s)!;
  const late = at.columns - at.rows;
  rows.forEach((q, r) => {
    let c = columns.findIndex((k) => k > q + late);
    if (c < 0) c = columns.length;
    points.push(x + c * f.cell[0], y + r * f.cell[1], x + c * f.cell[0], y + (r + 1) * f.cell[1]);
  });
  points.push(x + w, points.at(-1) ?? y, x + w, y);
  m.polygon(points, { fill: s.theme.dark ? "#2b2e35" : "#e6e7ea" });
}

function labels(m: Marks, s: Scene, f: Frame, rows: readonly number[], columns: readonly number[]): void {
  const at = site(s)!;
  const [q, k] = [queries(s, at), keys(s, at)];
  const { theme } = s;
  const hot = s.values.hover ?? s.values.locked;
  if (f.cell[1] >= 9) {
    const size = Math.min(12, f.cell[1] - 0.5);
    rows.forEach((row, r) => {
      const y = f.above + (r + 0.5 - f.from[0]) * f.cell[1];
      if (y < f.above || y > f.above + f.side[1]) return;
      const on = hot?.query === row;
      const text = fitted(m, shown(q.names[row]), f.left - 8, size);
      m.text(f.left - 5, y + size * 0.35, text, {
        align: "end",
        size,
        bold: on,
        fill: q.special[row] ? theme.soft : theme.ink,
      });
    });
  }
  const above = columns
    .map((column, c) => ({
      text: shown(k.names[column]),
      x: f.left + (c + 0.5 - f.from[1]) * f.cell[0],
      soft: !!k.special[column],
      bold: hot?.key === column,
    }))
    .filter((name) => name.x >= f.left && name.x <= f.left + f.side[0]);
  columnNames(m, above, f.above - 4, f.cell[0], f.above - 26, s);
  if (f.cell[1] < 9 || f.cell[0] < 9) {
    // too many to name: the ends are numbered, names come with the pointer and the zoom
    const lastRow = Math.min(rows.length, Math.ceil(f.from[0] + f.side[1] / f.cell[1]));
    const lastColumn = Math.min(columns.length, Math.ceil(f.from[1] + f.side[0] / f.cell[0]));
    if (f.cell[1] < 9) {
      m.text(f.left - 4, f.above + 9, String(Math.floor(f.from[0])), { align: "end", size: 10, fill: theme.soft });
      m.text(f.left - 4, f.above + f.side[1], String(lastRow - 1), { align: "end", size: 10, fill: theme.soft });
    }
    if (f.cell[0] < 9) {
      m.text(f.left, f.above - 4, String(Math.floor(f.from[1])), { size: 10, fill: theme.soft });
      m.text(f.left + f.side[0], f.above - 4, String(lastColumn - 1), { align: "end", size: 10, fill: theme.soft });
    }
  }
}

function kept(x: number, y: number, scale: number): { x: number; y: number; scale: number } {
  return { x: clamp(x, 0, 1 - 1 / scale), y: clamp(y, 0, 1 - 1 / scale), scale };
}

/** Zoom around a point of the map, given as shares of its sides. */
function zoomed(c: Context, by: number, atX: number, atY: number): void {
  const { x, y, scale } = c.state.zoom.value;
  const next = clamp(scale * by, 1, 256);
  const [px, py] = [clamp(atX, 0, 1), clamp(atY, 0, 1)];
  c.state.zoom.value = kept(x + px / scale - px / next, y + py / scale - py / next, next);
}

function weight(s: Scene, query: number, key: number): number | null {
  const { grid } = picked(s);
  if (!grid) return null;
  const r = Math.min(grid.rows - 1, Math.floor(query / grid.down));
  const c = Math.min(grid.columns - 1, Math.floor(key / grid.across));
  return grid.values[r * grid.columns + c] ?? 0;
}

/** Where only a pooled map is kept: which block a cell stands for. */
function pooledCell(s: Scene, at: SiteEntry, query: number, key: number): string {
  const { grid } = picked(s);
  if (!grid || (grid.down <= 1 && grid.across <= 1) || tiled(s, at)) return "";
  const part = (place: number, step: number, n: number): string => {
    const first = Math.floor(place / step);
    return `${Math.ceil(first * step)}–${Math.min(n, Math.ceil((first + 1) * step)) - 1}`;
  };
  const block = { q: part(query, grid.down, at.rows), k: part(key, grid.across, at.columns) };
  return s.t("largest_of_block", block);
}

/** The text form: the strongest links of what is shown. */
export function links(s: Scene): Table | null {
  const { at, grid, rows, columns } = picked(s);
  if (!grid) return null;
  const [q, k] = [queries(s, at), keys(s, at)];
  const found: { row: number; column: number; value: number }[] = [];
  const coarse = grid.down > 1 || grid.across > 1;
  const target = coarse ? null : s.values.locked?.query;
  const some = target !== undefined && target !== null ? [target] : rows;
  let least = 0;
  for (const row of coarse ? range(grid.rows) : some)
    for (const column of coarse ? range(grid.columns) : columns) {
      const value = grid.values[row * grid.columns + column] ?? 0;
      if (value <= least && found.length >= 50) continue;
      found.push({ row: Math.floor(row * grid.down), column: Math.floor(column * grid.across), value });
      if (found.length >= 400) {
        found.sort((a, b) => b.value - a.value || a.row - b.row || a.column - b.column);
        found.length = 50;
        least = found[49]!.value;
      }
    }
  found.sort((a, b) => b.value - a.value || a.row - b.row || a.column - b.column);
  return {
    caption: s.t("strongest_links", {
      n: Math.min(50, found.length),
      what: selection(s),
    }),
    columns: [s.t("query"), s.t("at"), s.t("key"), s.t("at"), s.t("weight")],
    rows: found
      .slice(0, 50)
      .map((x) => [shown(q.names[x.row]), x.row, shown(k.names[x.column]), x.column, Number(x.value.toFixed(6))]),
  };
}

export const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
