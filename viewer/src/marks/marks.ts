/** What drawings are made of. Views draw through this and nothing else, so that a canvas and an SVG show the same. */

export type Rgb = readonly [number, number, number];

export interface TextStyle {
  size?: number;
  fill?: string;
  align?: "start" | "middle" | "end";
  /** Degrees, clockwise, around the point. */
  rotate?: number;
  bold?: boolean;
  mono?: boolean;
  alpha?: number;
}

export interface Shape {
  fill?: string;
  stroke?: string;
  width?: number;
  alpha?: number;
  dash?: readonly number[];
}

/** A grid of colours. `levels` index `colours`; smooth: a photograph, drawn as one image. */
export interface Raster {
  rows: number;
  columns: number;
  /** One entry per cell, an index into `colours`; or, for a picture, three bytes per cell. */
  cells: Uint8Array;
  colours: readonly string[] | null;
  /** The index of the colour of the paper: a picture of paths leaves it out. Not always the first: of signs, the middle. */
  blank?: number;
}

export interface Marks {
  readonly kind: "canvas" | "svg";
  rect(x: number, y: number, w: number, h: number, shape: Shape): void;
  line(x1: number, y1: number, x2: number, y2: number, shape: Shape): void;
  polyline(points: readonly number[], shape: Shape): void;
  polygon(points: readonly number[], shape: Shape): void;
  /** A band between two vertical spans, with horizontal tangents: (x1, a1..b1) to (x2, a2..b2). */
  band(x1: number, a1: number, b1: number, x2: number, a2: number, b2: number, shape: Shape): void;
  /** A cubic curve between two points; its tangents are horizontal, or vertical where `upright`. */
  curve(x1: number, y1: number, x2: number, y2: number, shape: Shape, upright?: boolean): void;
  text(x: number, y: number, text: string, style?: TextStyle): void;
  raster(x: number, y: number, w: number, h: number, raster: Raster): void;
  clip(x: number, y: number, w: number, h: number, draw: () => void): void;
  measure(text: string, size?: number, bold?: boolean): number;
}

export const FONT = "system-ui, 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif";
export const MONO = "ui-monospace, 'DejaVu Sans Mono', monospace";
export const SIZE = 12;

/** The text cut to a width, with a dot for what is gone. */
export function fitted(marks: Marks, text: string, width: number, size = SIZE): string {
  if (marks.measure(text, size) <= width) return text;
  const letters = Array.from(text);
  let low = 0;
  let high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (marks.measure(`${letters.slice(0, middle).join("")}…`, size) <= width) low = middle;
    else high = middle - 1;
  }
  return `${letters.slice(0, low).join("")}…`;
}

/** A text in lines of a width, broken at spaces and between wide letters. */
export function wrapped(
  measure: (text: string, size?: number) => number,
  text: string,
  width: number,
  size = SIZE,
): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/(?<=[\s\u3000-\u9fff])/)) {
    if (line && measure(line + word, size) > width) {
      lines.push(line.trimEnd());
      line = "";
    }
    line += word;
  }
  return line.trim() ? [...lines, line] : lines;
}
