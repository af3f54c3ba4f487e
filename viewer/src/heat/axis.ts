/** One side of a heat map: where every place stands on the screen, with a lens that widens the places around one. */

export interface Axis {
  places: number;
  /** Pixels on the screen. */
  size: number;
  /** Pixels of one place outside the lens, zoom included. */
  cell: number;
  /** First place in view, with a fraction. */
  from: number;
  runs: readonly Run[];
}

/** Neighbouring places of one width. */
export interface Run {
  first: number;
  end: number;
  at: number;
  cell: number;
}

/** Pixels of a place under the lens, and how many stand at each side of the middle. */
const LENS = 15;
const REACH = 5;
/** Below this a name does not fit beside its place. */
export const READABLE = 9;

export function axis(places: number, size: number, zoom: { from: number; scale: number }, middle: number): Axis {
  const cell = (size / Math.max(1, places)) * zoom.scale;
  const from = zoom.from * places;
  const plain = { first: 0, end: places, at: -from * cell, cell };
  const lens = middle >= 0 && middle < places && cell < READABLE && zoom.scale === 1 && size > LENS * 3;
  return { places, size, cell, from, runs: lens ? runs(places, size, middle) : [plain] };
}

/** The middle stays where it is without a lens; what does not fit beside it is pressed together. */
function runs(places: number, size: number, middle: number): Run[] {
  const cell = size / places;
  const centre = Math.min(size - LENS / 2, Math.max(LENS / 2, (middle + 0.5) * cell));
  const reach = (count: number, room: number): number => {
    let n = Math.min(REACH, count);
    while (n > 0 && room - n * LENS < (count - n) * cell * 0.3) n--;
    return n;
  };
  const [left, right] = [centre - LENS / 2, size - centre - LENS / 2];
  const [before, after] = [reach(middle, left), reach(places - 1 - middle, right)];
  const [a, b] = [middle - before, middle + after + 1];
  const from = left - before * LENS;
  const to = centre + LENS / 2 + after * LENS;
  const out: Run[] = [{ first: a, end: b, at: from, cell: LENS }];
  if (a > 0) out.unshift({ first: 0, end: a, at: 0, cell: from / a });
  if (b < places) out.push({ first: b, end: places, at: to, cell: (size - to) / (places - b) });
  return out;
}

const run = (a: Axis, place: number): Run => a.runs.find((r) => place < r.end) ?? a.runs.at(-1)!;

/** Where a place begins, in pixels from the begin of the axis. */
export function at(a: Axis, place: number): number {
  const r = run(a, place);
  return r.at + (place - r.first) * r.cell;
}

export const width = (a: Axis, place: number): number => run(a, place).cell;

/** The place under a pixel, as it is without a lens: the lens then stands around that very pixel. */
export const placeAt = (a: Axis, pixel: number): number => Math.floor(pixel / a.cell + a.from);

/** Which names are written: those that are wanted most, then every n-th, as far as there is room. */
export function named(a: Axis, hot: number, room: number): { places: number[]; every: number } {
  const every = Math.max(1, Math.ceil(room / a.cell));
  const inside = (place: number): boolean => {
    const middle = at(a, place) + width(a, place) / 2;
    return middle >= 0 && middle <= a.size;
  };
  const wide = a.runs.filter((r) => r.cell >= READABLE).flatMap((r) => range(r.first, r.end));
  const order = [...(hot >= 0 ? [hot] : []), ...wide, ...range(0, a.places).filter((p) => p % every === 0)];
  const used: number[] = [];
  const places = [...new Set(order)].filter((place) => {
    const middle = at(a, place) + width(a, place) / 2;
    if (!inside(place) || used.some((u) => Math.abs(u - middle) < room - 1)) return false;
    used.push(middle);
    return true;
  });
  return { places: places.sort((x, y) => x - y), every: wide.length === a.places ? 1 : every };
}

export const range = (from: number, end: number): number[] => Array.from({ length: end - from }, (_, i) => from + i);
