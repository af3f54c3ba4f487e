// Generated from src/regard/present/pack/records.py by scripts/viewer_types.py. Do not edit.

/** Units of relevance (see `records.Units`). places: [start, end], [top, left, bottom, right] or [column]. */
export interface UnitsEntry {
  kind: string;
  place_kind: "span" | "box" | "range" | "column";
  names: string[];
  places: number[][];
  special: boolean[];
  groups: number[];
  part: number[];
  keys: number[];
  shape: number[];
}

/** Names along one axis of a site. units: the unit at each place, -1 for none. part: 0 or 1. boxes: [top, left, bottom, right] in the picture for a place that is a patch, [] for one that is not. */
export interface AxisEntry {
  names: string[];
  units: number[];
  special: boolean[];
  part: number[];
  boxes: number[][];
}

/** Place of attention. queries and keys are numbers of axes of the example. tops: the largest weight of each head. error: the largest difference between a stored and the true weight. full: the heads whose weights are in the pack; the others are only pooled. reading: the query rows that the answer reads. sink: a part of each row may go to no key. thumb: rows, columns, and the offset in `e/thumbs`. */
export interface SiteEntry {
  key: string;
  kind: "self" | "cross" | "causal" | "windowed" | "pooling";
  layer: number;
  heads: number;
  queries: number;
  keys: number;
  rows: number;
  columns: number;
  storage: "whole" | "heads" | "tiles";
  levels: number;
  tops: number[];
  error: number;
  full: number[];
  reading: number[];
  sink: boolean;
  thumb: number[];
  pooled: number[] | null;
  checked: string;
}

/** Row of `e/relevance`. */
export interface MethodEntry {
  name: string;
  signed: boolean;
  note: string;
}

/** `e/picture`: (height, width, channels) bytes, 1 or 3 channels. scale: pixels of the picture per unit of a box. */
export interface Picture {
  height: number;
  width: number;
  channels: number;
  scale: number;
}

/** `e/series`: (steps, channels) float32. as_spectrogram: many channels, drawn as a map instead of lines. rate: samples per second of a sound, which can be played; 0 for a series. */
export interface Series {
  steps: number;
  channels: number;
  as_spectrogram: boolean;
  names: string[];
  rate: number;
}

/** Another attention that gives (nearly) the same answer, found by a search: chunk `name`, (heads, rows, columns). tops as in `SiteEntry`; change: change of the answer (total variation); divergence: Jensen-Shannon, in nats. */
export interface AlternativeEntry {
  site: number;
  chunk: string;
  tops: number[];
  change: number;
  divergence: number;
  note: string;
}

/** Row of attention by hand (see `measures.walkthrough`). Small: its builder cuts features and keys. */
export interface WalkEntry {
  site: number;
  head: number;
  query: number;
  form: string;
  features: number[];
  all_features: number;
  keys: number[];
  query_vector: number[];
  key_vectors: number[][];
  products: number[][];
  dots: number[];
  factor: number;
  scaled: number[];
  added: number[];
  exponentials: number[];
  total: number;
  weights: number[];
  output_features: number[];
  weighted_values: number[][];
  output: number[];
  difference: number;
  notes: string[];
}

/** Joint worth of a word and a patch, which is not attention: `e/map/i`, (rows, columns) float32. rows and columns are numbers of axes of the example; row 0 is the whole text, column 0 the whole picture. note: meaning of the numbers, in words. */
export interface MapEntry {
  name: string;
  note: string;
  rows: number;
  columns: number;
}

/** Example of one model. made: generated tokens. row: a table row's numbers by column. trust: effect of removing the marked units on this prediction, one line per map, in words. outlines: [top, left, bottom, right] that a detector finds at each object query, [] at a query without a box. */
export interface ExampleEntry {
  id: string;
  title: string;
  model: string;
  text: string | null;
  text_pair: string | null;
  label: string | null;
  predicted: string;
  probability: number | null;
  value: number | null;
  distribution: number[];
  units: UnitsEntry;
  axes: AxisEntry[];
  sites: SiteEntry[];
  methods: MethodEntry[];
  rationale: number[] | null;
  alignment: number[][] | null;
  made: string[] | null;
  picture: Picture | null;
  series: Series | null;
  row: number[] | null;
  alternatives: AlternativeEntry[];
  walks: WalkEntry[];
  maps: MapEntry[];
  outlines: number[][];
  trust: string[];
}

/** A number with its interval and n; low and high are None if there is none. */
export interface MeasuredEntry {
  estimate: number;
  low: number | null;
  high: number | null;
  n: number;
}

/** Head of the survey. site: the key of its site. */
export interface HeadEntry {
  name: string;
  site: string;
  layer: number;
  number: number;
  role: string;
  others: string[];
  confidence: number | null;
  score: MeasuredEntry | null;
  baseline: number | null;
  spread: string;
  slope: MeasuredEntry | null;
  drop: MeasuredEntry | null;
  group: number | null;
}

/** Point of the pruning curve. */
export interface CurveEntry {
  order: string;
  measure: string;
  removed: number;
  share: number;
  value: MeasuredEntry;
}

/** Survey of every head, and its data. */
export interface AtlasEntry {
  model: string;
  data: string;
  n: number;
  seed: number;
  heads: HeadEntry[];
  curve: CurveEntry[];
  notes: string[];
}

/** Two examples worth comparing. origin: for each unit of the right one, the unit of the left one, or -1. */
export interface PairEntry {
  name: string;
  left: number;
  right: number;
  origin: number[] | null;
}

/** Verdict of an audit of this very model on its attention. Without an audit: reading "" . */
export interface VerdictEntry {
  reading: string;
  headline: string;
  sentence: string;
  attention: string;
  n: number;
}

/** Everything but the numbers. left_out: in words, the parts that the pack lacks. */
export interface Manifest {
  title: string;
  model: string;
  task: string;
  labels: string[];
  caveat: string;
  verdict: VerdictEntry | null;
  examples: ExampleEntry[];
  atlas: AtlasEntry | null;
  pairs: PairEntry[];
  left_out: string[];
  notes: string[];
  format: "regard-pack";
  version: 1;
}
