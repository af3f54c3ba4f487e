/** What every patch and every word of a picture is worth: by attention, by a method, or as a pair. */

import { picked } from "../attention.tsx";
import type { AxisEntry, ExampleEntry } from "../records.generated.ts";
import { type Context, keys, queries, type Scene, site } from "../view.ts";
import type { Key } from "../words.ts";

/** A place in the picture with its worth: a unit, or a key of the attention. */
interface Patch {
  at: number;
  box: number[];
}

export const boxed = (axis: AxisEntry | undefined): boolean => !!axis?.boxes.some((b) => b.length);
export const mapped = (example: ExampleEntry): boolean => example.sites.some((x) => boxed(example.axes[x.keys]));

/** The map of words and patches that is shown, -1 for none. */
export function mapOf(s: Scene): number {
  return s.values.shown.startsWith("map ") ? Math.min(Number(s.values.shown.slice(4)), s.example.maps.length - 1) : -1;
}

/** Those who look, or whose worth is asked: the places below the picture. */
export function lookers(s: Scene): AxisEntry {
  const pairs = s.example.maps[mapOf(s)];
  return pairs ? s.example.axes[pairs.rows]! : queries(s, site(s)!);
}

/** The word that was picked; of a map, the whole text where none was. */
export function pickedWord(s: Scene): number {
  const { locked } = s.values;
  if (locked?.part === "word") return locked.query ?? -1;
  return mapOf(s) >= 0 && back(s) < 0 ? 0 : -1;
}

/** What the colours of the words say. */
export function heading(s: Scene): Key {
  if (mapOf(s) >= 0) return back(s) < 0 ? "heading_words" : "heading_words_patch";
  return back(s) < 0 ? "heading_places" : "heading_places_patch";
}

/** The method whose relevance is shown, -1 for attention and maps. */
export function relevanceOf(s: Scene): number {
  if (mapOf(s) >= 0) return -1;
  if (s.values.shown.startsWith("method "))
    return Math.min(Number(s.values.shown.slice(7)), s.example.methods.length - 1);
  return mapped(s.example) ? -1 : 0;
}

/** The query row that is looked from: what the user picked, what the answer reads; -1 is the mean of all. */
export function asked(s: Scene): number {
  const at = site(s)!;
  const picked = s.values.locked?.query;
  if (picked !== undefined && picked < at.rows) return picked;
  return at.reading[0] ?? (at.rows === 1 ? 0 : -1);
}

/** The patch whose lookers are shown, where those who look are no patches themselves (words of another tower); or -1. */
export function back(s: Scene): number {
  const { locked } = s.values;
  return relevanceOf(s) < 0 && locked?.part === "patch" && locked.query === undefined ? (locked.key ?? -1) : -1;
}

export function keyToQuery(c: Context, key: number): number {
  if (mapOf(c) >= 0) return -1;
  const at = site(c)!;
  return at.queries === at.keys ? key : -1;
}

export type Worth = Patch & { worth: number };

export function worths(s: Scene): { patches: Worth[]; words: Worth[]; signed: boolean; axis: AxisEntry } | null {
  const pairs = s.example.maps[mapOf(s)];
  if (pairs) {
    const values = s.data.pairMap(s.e, mapOf(s));
    if (!values) return null;
    const axis = s.example.axes[pairs.columns]!;
    const wide = axis.names.length;
    const row = Math.max(0, pickedWord(s));
    const column = Math.max(0, back(s));
    return {
      patches: axis.names
        .map((_, k) => ({ at: k, box: axis.boxes[k] ?? [], worth: values[row * wide + k] ?? 0 }))
        .filter((p) => p.box.length),
      words: lookers(s).names.map((_, q) => ({ at: q, box: [], worth: values[q * wide + column] ?? 0 })),
      signed: true,
      axis,
    };
  }
  const method = relevanceOf(s);
  if (method >= 0) {
    const values = s.data.relevance(s.e)?.[method];
    if (!values) return null;
    const u = s.example.units;
    const patches = u.names
      .map((_, i) => ({ at: i, box: u.places[i] ?? [], worth: values[i] ?? 0 }))
      .filter((p) => !u.special[p.at]);
    const axis = { names: u.names, units: [], special: u.special, part: u.part, boxes: u.places };
    return { patches, words: [], signed: s.example.methods[method]!.signed, axis };
  }
  const { at, grid } = picked(s);
  if (!grid) return null;
  const axis = keys(s, at);
  const row = asked(s);
  const rows = row < 0 ? Array.from({ length: grid.rows }, (_, q) => q) : [Math.floor(row / grid.down)];
  const out: Worth[] = axis.names.map((_, k) => {
    let sum = 0;
    for (const q of rows) sum += grid.values[q * grid.columns + Math.floor(k / grid.across)] ?? 0;
    return { at: k, box: axis.boxes[k] ?? [], worth: sum / rows.length };
  });
  const patch = back(s);
  const looking =
    patch < 0
      ? out.filter((p) => !p.box.length && !axis.special[p.at])
      : queries(s, at).names.map((_, q) => ({
          at: q,
          box: [],
          worth: grid.values[Math.floor(q / grid.down) * grid.columns + Math.floor(patch / grid.across)] ?? 0,
        }));
  return {
    patches: out.filter((p) => p.box.length),
    words: looking,
    signed: false,
    axis,
  };
}

/** Places that look but are no patches: words of a text beside the picture. */
export function words(s: Scene): number[] {
  if (relevanceOf(s) >= 0) return [];
  const at = site(s);
  if (mapOf(s) < 0 && (!at || at.rows === 1)) return [];
  const q = lookers(s);
  return q.names.map((_, i) => i).filter((i) => !q.boxes[i]?.length);
}
