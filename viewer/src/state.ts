/** What the user did. Reset clears this and nothing else. */

import { type Signal, signal } from "@preact/signals";
import type { Data, Pool } from "./data.ts";
import type { EditEntry, Edited } from "./source.ts";

/** Something on a picture that can be pointed at. */
export interface Target {
  query?: number;
  key?: number;
  unit?: number;
  site?: number;
  head?: number;
  row?: number;
  /** Anything else a view tells apart. */
  part?: string;
}

export const START = {
  view: "",
  example: 0,
  site: 0,
  head: 0,
  /** Heads switched off in the head view, by number. */
  off: [] as number[],
  pool: "one" as Pool,
  layers: "one" as Pool,
  hideSpecial: false,
  /** Weights from here on are drawn; -1: from where about sixty lines remain. */
  threshold: -1,
  /** Which halves of a pair of texts are drawn. */
  pair: "all" as "all" | "0-0" | "0-1" | "1-0" | "1-1",
  upright: true,
  /** The writing step of a generation, -1 for all. */
  step: -1,
  /** The step that the written text shows. */
  written: 0,
  /** Of a generation: columns that take much of every row are left out. */
  hideSinks: true,
  words: false,
  methods: [] as number[],
  order: "model" as "model" | "role" | "importance",
  enlarged: null as { site: number; head: number } | null,
  zoom: { x: 0, y: 0, scale: 1 },
  residual: 0.5,
  from: -1,
  shown: "attention" as string,
  other: 1,
  otherSite: -1,
  otherHead: -1,
  otherMethod: 1,
  walk: 0,
  pruning: "",
  /** Edits of attention, in their order, and those that were taken back. */
  edits: [] as EditEntry[],
  /** A Spec that somebody shared, as it was pasted. */
  given: "",
  undone: [] as EditEntry[],
  share: 1,
  outcome: null as Edited | null,
  after: null as Data | null,
  busy: "",
  /** Set its flag, and what the model is busy with ends. */
  stop: null as { wanted: boolean } | null,
  /** Where the last change came from. */
  told: "",
  problem: "",
  spec: "",
  /** Units that a person calls decisive. */
  marked: [] as number[],
  author: "",
  marks: [] as { author: string; date: string }[],
  hover: null as Target | null,
  locked: null as Target | null,
  focus: { row: 0, column: 0 },
  table: false,
  /** Of a long picture: pixels above its window, and the height of that window. */
  scroll: 0,
  room: 600,
  width: 800,
};

export type Values = typeof START;
export type State = { [K in keyof Values]: Signal<Values[K]> };

export function newState(given: Partial<Values> = {}): State {
  const all = { ...START, ...given };
  return Object.fromEntries(Object.entries(all).map(([k, v]) => [k, signal(v)])) as unknown as State;
}

export function reset(state: State, keep: Partial<Values>): void {
  for (const [name, value] of Object.entries({ ...START, ...keep })) {
    (state[name as keyof Values] as Signal<unknown>).value = value;
  }
}

export function plain(state: State): Values {
  return Object.fromEntries(Object.entries(state).map(([k, s]) => [k, s.value])) as unknown as Values;
}
