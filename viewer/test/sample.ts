/** Small packs whose numbers are known. */

import { Data } from "../src/data.ts";
import { LIGHT } from "../src/palette.ts";
import { initial } from "../src/pictures.ts";
import type { AxisEntry, ExampleEntry, Manifest, SiteEntry } from "../src/records.generated.ts";
import type { Values } from "../src/state.ts";
import type { Scene } from "../src/view.ts";
import { translator } from "../src/words.ts";

export type Chunks = Record<string, Uint8Array>;

/** Heads of rows of weights. */
export type Weights = readonly (readonly (readonly number[])[])[];

export interface Sample {
  manifest: Manifest;
  chunks: Chunks;
}

/** As the pack writes a head: its largest weight, and the square root in eight bits. */
export function packed(head: readonly (readonly number[])[]): { top: number; bytes: Uint8Array } {
  const flat = head.flat();
  const top = Math.max(...flat, 0);
  return { top, bytes: Uint8Array.from(flat, (w) => Math.round(255 * Math.sqrt(w / (top || 1)))) };
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((p) => Array.from(p)));
}

export function axis(names: readonly string[], part: readonly number[] = names.map(() => 0)): AxisEntry {
  return {
    names: [...names],
    units: names.map((_, i) => i),
    special: names.map((n) => /^\[.+\]$/.test(n)),
    part: [...part],
    boxes: [],
  };
}

export function siteOf(layer: number, heads: number, rows: number, columns: number): SiteEntry {
  return {
    key: `layer.${layer}`,
    kind: "self",
    layer,
    heads,
    queries: 0,
    keys: 0,
    rows,
    columns,
    storage: "whole",
    levels: 1,
    tops: Array.from({ length: heads }, () => 1),
    error: 0,
    full: Array.from({ length: heads }, (_, h) => h),
    reading: [],
    sink: false,
    thumb: [rows, columns, 0],
    pooled: null,
    checked: "",
  };
}

export function manifestOf(example: Partial<ExampleEntry>, names: readonly string[]): Manifest {
  const one: ExampleEntry = {
    id: "one",
    title: "one",
    model: "model",
    text: null,
    text_pair: null,
    label: null,
    predicted: "yes",
    probability: 0.9,
    value: null,
    distribution: [0.1, 0.9],
    units: {
      kind: "token",
      place_kind: "span",
      names: [...names],
      places: names.map(() => []),
      special: names.map((n) => /^\[.+\]$/.test(n)),
      groups: names.map((_, i) => i),
      part: names.map(() => 0),
      keys: names.map((_, i) => i),
      shape: [],
    },
    axes: [axis(names)],
    sites: [],
    methods: [],
    rationale: null,
    alignment: null,
    made: null,
    picture: null,
    series: null,
    row: null,
    alternatives: [],
    walks: [],
    maps: [],
    outlines: [],
    trust: [],
    ...example,
  };
  return {
    title: "sample",
    model: "model",
    task: "classification",
    labels: ["no", "yes"],
    caveat: "Attention is not an explanation by itself.",
    verdict: null,
    examples: [one],
    atlas: null,
    pairs: [],
    left_out: [],
    notes: [],
    format: "regard-pack",
    version: 1,
  };
}

/** One text, and for each layer the weights of its heads. */
export function sample(names: readonly string[], layers: readonly Weights[], more: Partial<ExampleEntry> = {}): Sample {
  const chunks: Chunks = {};
  const thumbs: Uint8Array[] = [];
  let offset = 0;
  const sites = layers.map((weights, s) => {
    const heads = weights.map(packed);
    const [rows, columns] = [weights[0]!.length, weights[0]![0]!.length];
    chunks[`0/${s}/all`] = joined(heads.map((h) => h.bytes));
    thumbs.push(chunks[`0/${s}/all`]!);
    const entry = { ...siteOf(s, weights.length, rows, columns), tops: heads.map((h) => h.top) };
    entry.thumb = [rows, columns, offset];
    offset += weights.length * rows * columns;
    return entry;
  });
  chunks["0/thumbs"] = joined(thumbs);
  return { manifest: manifestOf({ sites, ...more }, names), chunks };
}

export function dataOf(given: Sample): Data {
  return new Data(
    given.manifest,
    (id) => {
      const found = given.chunks[id];
      if (!found) throw new Error(`chunk ${id} was not given`);
      return found;
    },
    () => {},
  );
}

export function sceneOf(given: Sample, values: Partial<Values> = {}, data = dataOf(given)): Scene {
  return {
    manifest: given.manifest,
    example: given.manifest.examples[0]!,
    e: 0,
    data,
    values: initial(given.manifest, 0, values),
    theme: LIGHT,
    width: 800,
    scroll: 0,
    room: 100000,
    t: translator(),
  };
}

/** Numbers between 0 and 1 that look random and are the same every time. */
export function numbers(seed: number): () => number {
  let now = seed;
  return () => {
    now = (Math.imul(now, 1664525) + 1013904223) >>> 0;
    return now / 2 ** 32;
  };
}

/** Heads of rows that sum to one. */
export function softmaxed(heads: number, n: number, seed: number): number[][][] {
  const next = numbers(seed);
  return Array.from({ length: heads }, () =>
    Array.from({ length: n }, () => {
      const raw = Array.from({ length: n }, () => next() ** 3 + 0.001);
      const sum = raw.reduce((a, b) => a + b, 0);
      return raw.map((v) => v / sum);
    }),
  );
}

export const TOKENS = ["[CLS]", "un", "##likely", "story", "[SEP]"];

/** Two layers of two heads over five tokens, the second and third of which are one word; two methods. */
export function text(more: Partial<ExampleEntry> = {}): Sample {
  const found = sample(TOKENS, [softmaxed(2, 5, 1), softmaxed(2, 5, 2)], {
    text: "unlikely story",
    methods: [
      { name: "attention", signed: false, note: "" },
      { name: "gradient", signed: true, note: "" },
    ],
    ...more,
  });
  const units = found.manifest.examples[0]!.units;
  units.places = [
    [0, 0],
    [0, 2],
    [2, 8],
    [9, 14],
    [0, 0],
  ];
  units.groups = [-1, 0, 0, 1, -1];
  const relevance = Float32Array.from([0.1, 0.2, 0.3, 0.4, 0, 0.5, -0.25, 0.75, -1, 0]);
  found.chunks["0/relevance"] = new Uint8Array(relevance.buffer);
  return found;
}

/** A head of 301 x 521 in tiles of 256, as the pack stores it; byte = a known function of row and column. */
export function tiled(): Sample & { byte: (r: number, c: number) => number } {
  const [rows, columns] = [301, 521];
  const next = numbers(3);
  const all = Uint8Array.from({ length: rows * columns }, () => Math.floor(next() * 256));
  const at = { ...siteOf(0, 1, rows, columns), storage: "tiles" as const, levels: 3, tops: [0.8] };
  const chunks: Record<string, Uint8Array> = {};
  let [h, w, now] = [rows, columns, all];
  for (let level = 0; level < 3; level++) {
    for (let r = 0; r * 256 < h; r++)
      for (let c = 0; c * 256 < w; c++) {
        const part: number[] = [];
        for (let y = r * 256; y < Math.min(h, r * 256 + 256); y++)
          part.push(...now.subarray(y * w + c * 256, y * w + Math.min(w, c * 256 + 256)));
        chunks[`0/0/0/${level}/${r}/${c}`] = Uint8Array.from(part);
      }
    const [hh, ww, old] = [(h + 1) >> 1, (w + 1) >> 1, now];
    const half = new Uint8Array(hh * ww);
    for (let y = 0; y < h; y++)
      for (let x = 0; x < w; x++) {
        const i = (y >> 1) * ww + (x >> 1);
        half[i] = Math.max(half[i]!, old[y * w + x]!);
      }
    [h, w, now] = [hh, ww, half];
  }
  const names = Array.from({ length: columns }, (_, i) => `t${i}`);
  const manifest = manifestOf({ sites: [{ ...at, queries: 1 }] }, names);
  manifest.examples[0]!.axes.push({ ...manifest.examples[0]!.axes[0]!, names: names.slice(0, rows) });
  return { manifest, chunks, byte: (r, c) => all[r * columns + c]! };
}

export async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  return new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer();
}
