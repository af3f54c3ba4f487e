/** Decoded data of a pack. Everything is asked for as if it were there: null means "not yet", and it is on its way. */

import type { ExampleEntry, Manifest, SiteEntry } from "./records.generated.ts";

/** Weights (or any numbers) on a grid. A cell stands for `down` x `across` positions where the site was too long. */
export interface Grid {
  rows: number;
  columns: number;
  values: Float32Array;
  top: number;
  down: number;
  across: number;
}

export type Pool = "one" | "mean" | "max";

const TILE = 256;
const MOST_BYTES = 96 << 20;
const MOST_GRIDS = 48;
/** Cells of a grid at most; longer sites are seen through a pooled level. */
const LARGEST = 1024 * 1024;

const SQUARES = Float32Array.from({ length: 256 }, (_, b) => (b / 255) ** 2);

export class Data {
  private bytes = new Map<string, Uint8Array>();
  private held = 0;
  private asked = new Set<string>();
  private grids = new Map<string, Grid>();
  readonly memo = new Map<string, unknown>();
  failure = "";

  constructor(
    readonly manifest: Manifest,
    private readonly fetch: (id: string) => Promise<Uint8Array> | Uint8Array,
    private readonly arrived: () => void,
  ) {}

  /** Decompressed bytes of a chunk. */
  chunk(id: string): Uint8Array | null {
    const there = this.bytes.get(id);
    if (there) return there;
    if (this.asked.has(id)) return null;
    const got = this.fetch(id);
    if (got instanceof Uint8Array) {
      this.keep(id, got);
      return got;
    }
    this.asked.add(id);
    got.then(
      (bytes) => {
        this.asked.delete(id);
        this.keep(id, bytes);
        this.arrived();
      },
      (error: unknown) => {
        this.failure = `chunk ${id}: ${error instanceof Error ? error.message : String(error)}`;
        this.arrived();
      },
    );
    return null;
  }

  private keep(id: string, bytes: Uint8Array): void {
    this.bytes.set(id, bytes);
    this.held += bytes.length;
    for (const [old, b] of this.bytes) {
      if (this.held <= MOST_BYTES || old === id) break;
      this.bytes.delete(old);
      this.held -= b.length;
    }
  }

  private keepGrid(key: string, grid: Grid): Grid {
    this.grids.set(key, grid);
    const first = this.grids.keys().next();
    if (this.grids.size > MOST_GRIDS && !first.done) this.grids.delete(first.value);
    return grid;
  }

  /** Take over the weights of an earlier pack of the same answer; only its relevances are fetched again. */
  inherit(old: Data): void {
    const sites = (data: Data, e: number): string => JSON.stringify(data.manifest.examples[e]?.sites.map((x) => x.key));
    const kept = (key: string): boolean => {
      const e = Number.parseInt(key, 10);
      return !key.endsWith("/relevance") && sites(this, e) === sites(old, e);
    };
    for (const [id, bytes] of old.bytes) if (kept(id)) this.keep(id, bytes);
    for (const [key, grid] of old.grids) if (kept(key)) this.grids.set(key, grid);
  }

  example(e: number): ExampleEntry {
    return this.manifest.examples[e]!;
  }

  site(e: number, s: number): SiteEntry {
    return this.example(e).sites[s]!;
  }

  /** The weights of one head, or of what is kept of it. */
  head(e: number, s: number, h: number): Grid | null {
    const key = `${e}/${s}/${h}`;
    const there = this.grids.get(key);
    if (there) return there;
    const site = this.site(e, s);
    const top = site.tops[h] ?? 0;
    const make = (bytes: Uint8Array, rows: number, columns: number): Grid => {
      const values = new Float32Array(rows * columns);
      for (let i = 0; i < values.length; i++) values[i] = top * SQUARES[bytes[i]!]!;
      return this.keepGrid(key, { rows, columns, values, top, down: site.rows / rows, across: site.columns / columns });
    };
    if (!site.full.includes(h)) {
      const bytes = site.pooled && this.chunk(`${e}/${s}/pooled`);
      if (!bytes || !site.pooled) return null;
      const [rows, columns] = [site.pooled[0]!, site.pooled[1]!];
      return make(bytes.subarray(h * rows * columns, (h + 1) * rows * columns), rows, columns);
    }
    if (site.storage === "tiles") {
      let level = 0;
      while ((site.rows >> level) * (site.columns >> level) > LARGEST) level++;
      const found = this.level(e, s, h, level);
      return found && make(found.bytes, found.rows, found.columns);
    }
    const size = site.rows * site.columns;
    if (site.storage === "whole") {
      const all = this.chunk(`${e}/${s}/all`);
      return all && make(all.subarray(h * size, (h + 1) * size), site.rows, site.columns);
    }
    const bytes = this.chunk(key);
    return bytes && make(bytes, site.rows, site.columns);
  }

  /** One level of a tiled head, put together. */
  private level(
    e: number,
    s: number,
    h: number,
    level: number,
  ): { bytes: Uint8Array; rows: number; columns: number } | null {
    const [rows, columns] = this.levelSize(e, s, level);
    const bytes = new Uint8Array(rows * columns);
    let all = true;
    for (let r = 0; r < rows; r += TILE)
      for (let c = 0; c < columns; c += TILE) {
        const tile = this.tile(e, s, h, level, r / TILE, c / TILE);
        if (!tile) {
          all = false;
          continue;
        }
        const w = Math.min(TILE, columns - c);
        for (let y = 0; y < Math.min(TILE, rows - r); y++)
          bytes.set(tile.subarray(y * w, (y + 1) * w), (r + y) * columns + c);
      }
    return all ? { bytes, rows, columns } : null;
  }

  levelSize(e: number, s: number, level: number): [number, number] {
    const site = this.site(e, s);
    let [rows, columns] = [site.rows, site.columns];
    for (let i = 0; i < level; i++) {
      rows = (rows + 1) >> 1;
      columns = (columns + 1) >> 1;
    }
    return [rows, columns];
  }

  tile(e: number, s: number, h: number, level: number, row: number, column: number): Uint8Array | null {
    return this.chunk(`${e}/${s}/${h}/${level}/${row}/${column}`);
  }

  /** One exact weight of a tiled head; null while its tile is on the way. */
  exact(e: number, s: number, h: number, q: number, k: number): number | null {
    const site = this.site(e, s);
    if (site.storage !== "tiles" || !site.full.includes(h)) return null;
    const tile = this.tile(e, s, h, 0, Math.floor(q / TILE), Math.floor(k / TILE));
    if (!tile) return null;
    const width = Math.min(TILE, site.columns - Math.floor(k / TILE) * TILE);
    return (site.tops[h] ?? 0) * SQUARES[tile[(q % TILE) * width + (k % TILE)]!]!;
  }

  /** Heads of one site put together. */
  pooled(e: number, s: number, heads: readonly number[], pool: Pool): Grid | null {
    if (heads.length === 1 || pool === "one") return this.head(e, s, heads[0] ?? 0);
    return this.joined(
      `${e}/${s}:${pool}:${heads.join(",")}`,
      heads.map((h) => () => this.head(e, s, h)),
      pool,
    );
  }

  /** Sites of one shape put together, each already pooled over its heads. */
  overLayers(e: number, sites: readonly number[], heads: readonly number[], how: Pool, pool: Pool): Grid | null {
    return this.joined(
      `${e}/${how}:${sites.join(",")}:${pool}:${heads.join(",")}`,
      sites.map(
        (s) => () =>
          this.pooled(
            e,
            s,
            heads.filter((h) => h < this.site(e, s).heads),
            pool,
          ),
      ),
      how,
    );
  }

  private joined(key: string, parts: readonly (() => Grid | null)[], pool: Pool): Grid | null {
    const there = this.grids.get(key);
    if (there) return there;
    let out: Float32Array | null = null;
    let shape: Grid | null = null;
    const all = parts.map((part) => part()); // all of them are asked for at once
    if (all.some((grid) => !grid)) return null;
    // heads of which only a pooled version is kept bring the others down to their size
    const rows = Math.min(...all.map((grid) => grid!.rows));
    const columns = Math.min(...all.map((grid) => grid!.columns));
    for (const whole of all) {
      const grid = pooledTo(whole!, rows, columns);
      if (!out || !shape) {
        out = Float32Array.from(grid.values);
        shape = grid;
      } else if (pool === "max") for (let i = 0; i < out.length; i++) out[i] = Math.max(out[i]!, grid.values[i] ?? 0);
      else for (let i = 0; i < out.length; i++) out[i] = out[i]! + (grid.values[i] ?? 0);
    }
    if (!out || !shape) return null;
    let top = 0;
    for (let i = 0; i < out.length; i++) {
      if (pool === "mean") out[i] = out[i]! / parts.length;
      if (out[i]! > top) top = out[i]!;
    }
    return this.keepGrid(key, { ...shape, values: out, top });
  }

  /** (methods, units) relevance. */
  relevance(e: number): Float32Array[] | null {
    const example = this.example(e);
    const bytes = this.chunk(`${e}/relevance`);
    if (!bytes) return null;
    const all = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
    const n = example.units.names.length;
    return example.methods.map((_, i) => all.subarray(i * n, (i + 1) * n));
  }

  /** What pairs of a word and a patch are worth: (rows, columns). */
  pairMap(e: number, i: number): Float32Array | null {
    const bytes = this.chunk(`${e}/map/${i}`);
    return bytes && new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  }

  series(e: number): Float32Array | null {
    const bytes = this.chunk(`${e}/series`);
    return bytes && new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  }

  /** The bytes of one head's small picture. */
  thumb(e: number, s: number, h: number): { rows: number; columns: number; bytes: Uint8Array } | null {
    const all = this.chunk(`${e}/thumbs`);
    if (!all) return null;
    const [rows, columns, offset] = this.site(e, s).thumb as [number, number, number];
    const from = offset + h * rows * columns;
    return { rows, columns, bytes: all.subarray(from, from + rows * columns) };
  }

  /** Another attention that a search found, as (heads) grids. */
  alternative(e: number, i: number): Grid[] | null {
    const found = this.example(e).alternatives[i]!;
    const bytes = this.chunk(found.chunk);
    if (!bytes) return null;
    const site = this.site(e, found.site);
    const size = site.rows * site.columns;
    return found.tops.map((top, h) => ({
      rows: site.rows,
      columns: site.columns,
      values: Float32Array.from(bytes.subarray(h * size, (h + 1) * size), (b) => top * SQUARES[b]!),
      top,
      down: 1,
      across: 1,
    }));
  }

  /** A value computed once per key. */
  once<T>(key: string, make: () => T): T {
    if (!this.memo.has(key)) {
      if (this.memo.size > 400) this.memo.clear();
      this.memo.set(key, make());
    }
    return this.memo.get(key) as T;
  }
}

/** The largest value of each block; the blocks are those that the pack uses. */
export function pooledTo(grid: Grid, rows: number, columns: number): Grid {
  if (grid.rows <= rows && grid.columns <= columns) return grid;
  const values = new Float32Array(rows * columns).fill(Number.NEGATIVE_INFINITY);
  const across = new Int32Array(grid.columns);
  for (let c = 0; c < grid.columns; c++) across[c] = Math.floor(((c + 1) * columns - 1) / grid.columns);
  for (let r = 0; r < grid.rows; r++) {
    const down = Math.floor(((r + 1) * rows - 1) / grid.rows) * columns;
    for (let c = 0; c < grid.columns; c++) {
      const i = down + across[c]!;
      values[i] = Math.max(values[i]!, grid.values[r * grid.columns + c]!);
    }
  }
  return {
    ...grid,
    rows,
    columns,
    values,
    down: (grid.down * grid.rows) / rows,
    across: (grid.across * grid.columns) / columns,
  };
}
