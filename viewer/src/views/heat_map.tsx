import { Controls, exactly, picked, selection } from "../attention.tsx";
import { glide } from "../glide.ts";
import { named, placeAt, at as placed, READABLE, range, width } from "../heat/axis.ts";
import { frame, type Pane, panes } from "../heat/frame.ts";
import { type Box, HEIGHT, minimap, within } from "../heat/minimap.ts";
import { labels, NAME } from "../heat/names.ts";
import { amountLegend, LEGEND } from "../legend.ts";
import type { Marks, Raster } from "../marks/marks.ts";
import { Button } from "../parts.tsx";
import type { SiteEntry } from "../records.generated.ts";
import { type Context, keys, number, queries, type Scene, shown, site, type Table, type View } from "../view.ts";

const TILE = 256;

const view: View = {
  name: "heat_map",
  title: "view_heat_map",
  order: 3,
  attention: () => true,
  needs: (_, example) => (example.sites.length ? null : "no_attention"),
  height(s) {
    const { rows, columns } = picked(s);
    const f = frame(s, rows, columns);
    return f.above + f.rows.size + (f.overview ? HEIGHT : LEGEND) + 8;
  },
  draw(m, s) {
    const { at, grid, rows, columns } = picked(s);
    const f = frame(s, rows, columns);
    const { theme } = s;
    const [wide, tall] = [f.columns.size, f.rows.size];
    m.text(f.left, 12, `${s.t("keys_long")} →`, { fill: theme.soft, size: 11 });
    m.text(4, f.above - 6, `${s.t("queries")} ↓`, { fill: theme.soft, size: 11 });
    m.clip(f.left, f.above, wide, tall, () => {
      for (const pane of panes(f)) {
        const draw = (): void => {
          const [w, h] = [pane.cell[0] * columns.length, pane.cell[1] * rows.length];
          if (tiled(s, at)) drawTiles(m, s, pane);
          else if (grid) m.raster(...pane.corner, w, h, cells(s, rows, columns));
          if (at.kind === "causal") masked(m, s, pane, rows, columns);
        };
        if (f.rows.runs.length + f.columns.runs.length === 2) draw();
        else m.clip(pane.x, pane.y, pane.w, pane.h, draw);
      }
      if (!grid && !tiled(s, at)) m.text(f.left + 8, f.above + 20, s.t("loading"), { fill: theme.soft });
    });
    m.rect(f.left + 0.5, f.above + 0.5, wide, tall, { stroke: theme.line });
    labels(m, s, f, rows, columns);
    const top = grid?.top ?? Math.max(...at.tops, 0);
    amountLegend(m, theme, f.left, f.above + tall + 8, top, s.t("weight_root"), f.overview?.x ?? s.width);
    if (f.overview) minimap(m, s, f.overview, grid && cells(s, rows, columns));
    for (const target of [s.values.locked, s.values.hover]) {
      if (target?.query === undefined || target.key === undefined) continue;
      const [r, c] = [rows.indexOf(target.query), columns.indexOf(target.key)];
      if (r < 0 || c < 0) continue;
      const [x, y] = [f.left + placed(f.columns, c), f.above + placed(f.rows, r)];
      const [w, h] = [width(f.columns, c), width(f.rows, r)];
      m.clip(f.left, f.above, wide, tall, () => {
        const shape = { stroke: theme.focus, width: 2 };
        m.rect(x, y, Math.max(3, w), Math.max(3, h), shape);
        m.line(f.left, y + h / 2, x, y + h / 2, { ...shape, width: 1, alpha: 0.6 });
        m.line(x + w / 2, f.above, x + w / 2, y, { ...shape, width: 1, alpha: 0.6 });
      });
    }
    return {
      hit(x, y) {
        const part = within(f.overview, x, y);
        if (part) return { part: part.join(":") };
        const [r, c] = [placeAt(f.rows, y - f.above), placeAt(f.columns, x - f.left)];
        const inside = x >= f.left && y >= f.above && x < f.left + wide && y < f.above + tall;
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
    const { rows, columns } = picked(s);
    const f = frame(s, rows, columns);
    const every = Math.max(named(f.rows, -1, NAME).every, named(f.columns, -1, NAME).every);
    const thin = every > 1 ? `; ${s.t("names_thinned", { n: every })}` : "";
    return `${selection(s)}${more}${zoom}${grey}${thin}`;
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
        <Button click={() => glide(c.state.zoom, zoomedTo(c, 1.5, 0.5, 0.5))} title={c.t("zoom_in")}>
          +
        </Button>
        <Button click={() => glide(c.state.zoom, zoomedTo(c, 1 / 1.5, 0.5, 0.5))} title={c.t("zoom_out")}>
          −
        </Button>
      </span>
      {wordScale(c) > 1 && <Button click={() => toWords(c)}>{c.t("zoom_words")}</Button>}
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
      const { x, y, scale } = c.state.zoom.value;
      const inView = (from: number, place: number, n: number): number =>
        clamp(from, (place + 1) / n - 1 / scale, place / n);
      if (scale > 1) c.state.zoom.value = kept(inView(x, k, columns.length), inView(y, r, rows.length), scale);
    }
    return true;
  },
  click(target, c) {
    if (target.part !== undefined) {
      const [x, y] = target.part.split(":").map(Number);
      goTo(c, x!, y!, Math.max(c.state.zoom.value.scale, wordScale(c)));
      return;
    }
    const old = c.state.locked.value;
    c.state.locked.value = old && old.query === target.query && old.key === target.key ? null : target;
  },
  wheel(x, y, turn, c) {
    const { rows, columns } = picked(c);
    const f = frame(c, rows, columns);
    zoomed(c, turn > 0 ? 1.25 : 0.8, (x - f.left) / f.columns.size, (y - f.above) / f.rows.size);
  },
  pan(dx, dy, c) {
    const { rows, columns } = picked(c);
    const f = frame(c, rows, columns);
    const { x, y, scale } = c.state.zoom.value;
    c.state.zoom.value = kept(x - dx / f.columns.size / scale, y - dy / f.rows.size / scale, scale);
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
function drawTiles(m: Marks, s: Scene, pane: Pane): void {
  const at = site(s)!;
  let level = 0;
  while (level < at.levels - 1 && pane.cell[0] * 2 ** level < 0.75) level++;
  const [rows, columns] = s.data.levelSize(s.e, s.values.site, level);
  const step = 2 ** level;
  const [w, h] = [pane.cell[0] * step, pane.cell[1] * step];
  const [x0, y0] = pane.corner;
  const f = seen(s, pane);
  for (let r = 0; r * TILE < rows; r++)
    for (let c = 0; c * TILE < columns; c++) {
      const [tall, wide] = [Math.min(TILE, rows - r * TILE), Math.min(TILE, columns - c * TILE)];
      const [x, y] = [x0 + c * TILE * w, y0 + r * TILE * h];
      if (x > f.x + f.w || y > f.y + f.h || x + wide * w < f.x || y + tall * h < f.y) continue;
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

/** The part of a pane that is on the screen: of a zoomed map, most of it is not. */
function seen(s: Scene, pane: Pane): Box {
  const { rows, columns } = picked(s);
  const f = frame(s, rows, columns);
  const [x, y] = [Math.max(pane.x, f.left), Math.max(pane.y, f.above)];
  const right = Math.min(pane.x + pane.w, f.left + f.columns.size);
  return { x, y, w: right - x, h: Math.min(pane.y + pane.h, f.above + f.rows.size) - y };
}

/** What a causal row may not look at is grey, not "nothing". */
function masked(m: Marks, s: Scene, pane: Pane, rows: readonly number[], columns: readonly number[]): void {
  const points: number[] = [];
  const [[x, y], [w, h]] = [pane.corner, pane.cell];
  const at = site(s)!;
  const late = at.columns - at.rows;
  rows.forEach((q, r) => {
    let c = columns.findIndex((k) => k > q + late);
    if (c < 0) c = columns.length;
    points.push(x + c * w, y + r * h, x + c * w, y + (r + 1) * h);
  });
  const right = x + w * columns.length;
  points.push(right, points.at(-1) ?? y, right, y);
  m.polygon(points, { fill: s.theme.dark ? "#2b2e35" : "#e6e7ea" });
}

function kept(x: number, y: number, scale: number): { x: number; y: number; scale: number } {
  return { x: clamp(x, 0, 1 - 1 / scale), y: clamp(y, 0, 1 - 1 / scale), scale };
}

/** Zoom around a point of the map, given as shares of its sides. */
function zoomed(c: Context, by: number, atX: number, atY: number): void {
  c.state.zoom.value = zoomedTo(c, by, atX, atY);
}

function zoomedTo(c: Context, by: number, atX: number, atY: number): { x: number; y: number; scale: number } {
  const { x, y, scale } = c.state.zoom.value;
  const next = clamp(scale * by, 1, 256);
  const [px, py] = [clamp(atX, 0, 1), clamp(atY, 0, 1)];
  return kept(x + px / scale - px / next, y + py / scale - py / next, next);
}

/** The zoom at which every place has its name; 1 where it has one without. */
function wordScale(c: Context): number {
  const { rows, columns } = picked(c);
  const f = frame({ ...c, values: { ...c.values, zoom: { x: 0, y: 0, scale: 1 } } }, rows, columns);
  const cell = rows.length === 1 ? f.columns.cell : Math.min(f.rows.cell, f.columns.cell);
  return cell >= READABLE ? 1 : Math.min(256, 15 / cell);
}

/** A point of the map, as shares of its sides, in the middle of the picture. */
function goTo(c: Context, x: number, y: number, scale: number): void {
  glide(c.state.zoom, kept(x - 0.5 / scale, y - 0.5 / scale, scale));
}

/** Zoom until every place has its name, at what is pointed at, else at the heaviest weight. */
function toWords(c: Context): void {
  const { grid, rows, columns } = picked(c);
  const hot = c.state.hover.value ?? c.state.locked.value;
  let [row, column] = [hot?.query ?? 0, hot?.key ?? 0];
  if (hot?.query === undefined && grid) {
    const i = grid.values.reduce((best, v, j) => (v > grid.values[best]! ? j : best), 0);
    [row, column] = [Math.floor(i / grid.columns) * grid.down, (i % grid.columns) * grid.across];
  }
  const share = (list: readonly number[], place: number): number =>
    (list.findIndex((p) => p >= place) + 0.5) / Math.max(1, list.length);
  goTo(c, share(columns, column), share(rows, row), wordScale(c));
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
  for (const row of coarse ? range(0, grid.rows) : some)
    for (const column of coarse ? range(0, grid.columns) : columns) {
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
