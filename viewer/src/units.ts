/** Relevance of units: as they are, or put together to words. */

import type { Scene } from "./view.ts";

/** One thing that a relevance is shown for. units: those that it is made of. */
export interface Piece {
  name: string;
  units: number[];
  special: boolean;
  part: number;
  /** Whether a space stands before it in the text. */
  spaced: boolean;
}

export function pieces(s: Scene): Piece[] {
  const u = s.example.units;
  const out: Piece[] = [];
  let end = -1;
  u.names.forEach((name, i) => {
    const place = u.places[i] ?? [];
    const text = (u.part[i] ? s.example.text_pair : s.example.text) ?? null;
    const spaced =
      u.place_kind !== "span" || u.special[i] || place[0] !== end || (u.part[i] ?? 0) !== (out.at(-1)?.part ?? 0);
    const written = text !== null && !u.special[i] && (place[1] ?? 0) > (place[0] ?? 0);
    const word = written ? Array.from(text).slice(place[0], place[1]).join("") : name;
    end = u.special[i] ? -1 : (place[1] ?? -1);
    const last = out.at(-1);
    const group = u.groups[i] ?? -1;
    const joins =
      s.values.words && last && group >= 0 && u.groups[last.units[0]!] === group && last.part === (u.part[i] ?? 0);
    if (joins) {
      last.units.push(i);
      last.name += word;
    } else out.push({ name: word, units: [i], special: !!u.special[i], part: u.part[i] ?? 0, spaced: !!spaced });
  });
  return s.values.hideSpecial ? out.filter((p) => !p.special) : out;
}

/** The relevance of a piece: the sum over its units. */
export function worth(values: Float32Array, piece: Piece): number {
  let sum = 0;
  for (const i of piece.units) sum += values[i] ?? 0;
  return sum;
}

export const isSplit = (s: Scene): boolean => {
  const groups = s.example.units.groups.filter((g) => g >= 0);
  return new Set(groups).size < groups.length;
};

export function largest(values: Iterable<number>): number {
  let top = 0;
  for (const v of values) top = Math.max(top, Math.abs(v));
  return top;
}

/** Methods that are made of attention weights. */
const OF_ATTENTION =
  /^(alti|attention|attention_x_gradient|flow|generic_relevance|globenc|knock_out|rollout|value_norms|value_norms_residual|value_zeroing)\b/;

/** Whether one of the methods on the picture is made of attention. */
export const showsAttention = (s: Scene, methods: readonly number[]): boolean =>
  methods.some((i) => OF_ATTENTION.test(s.example.methods[i]?.name ?? ""));
