/** Colours that people with any colour vision can tell apart (after Okabe and Ito). */

import type { Rgb } from "./marks/marks.ts";

export interface Theme {
  dark: boolean;
  paper: string;
  ink: string;
  soft: string;
  line: string;
  focus: string;
  /** 256 colours from nothing to the most. */
  amounts: readonly string[];
  /** 511 colours: against, nothing (at 255), for. */
  signs: readonly string[];
  plus: Rgb;
  minus: Rgb;
  amount: Rgb;
  /** Laid over a photograph: seen on dark and on bright pixels, whatever the page is. */
  over: Rgb;
}

type Stop = readonly [number, Rgb];

const hex = (c: Rgb): string => `#${c.map((v) => Math.round(v).toString(16).padStart(2, "0")).join("")}`;
export const rgb = (c: Rgb, alpha = 1): string => `rgba(${c[0]},${c[1]},${c[2]},${Math.round(alpha * 1000) / 1000})`;

export function mixed(a: Rgb, b: Rgb, share: number): Rgb {
  return [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share];
}

function ramp(stops: readonly Stop[], count: number): string[] {
  const out: string[] = [];
  for (let i = 0; i < count; i++) {
    const t = i / (count - 1);
    let k = 1;
    while (k < stops.length - 1 && stops[k]![0] < t) k++;
    const [a, b] = [stops[k - 1]!, stops[k]!];
    out.push(hex(mixed(a[1], b[1], (t - a[0]) / (b[0] - a[0]))));
  }
  return out;
}

function theme(dark: boolean): Theme {
  const paper: Rgb = dark ? [20, 22, 26] : [255, 255, 255];
  const plus: Rgb = dark ? [240, 135, 50] : [213, 94, 0];
  const minus: Rgb = dark ? [86, 180, 233] : [0, 114, 178];
  const amount: Rgb = dark ? [178, 136, 220] : [123, 79, 163];
  const end: Rgb = dark ? [247, 236, 255] : [45, 11, 78];
  const against = ramp(
    [
      [0, minus],
      [1, paper],
    ],
    256,
  );
  const speaking = ramp(
    [
      [0, paper],
      [1, plus],
    ],
    256,
  );
  return {
    dark,
    paper: hex(paper),
    ink: dark ? "#e8e8e8" : "#1b1b1b",
    soft: dark ? "#a9adb5" : "#5c6068",
    line: dark ? "#4a4e57" : "#c9ccd2",
    focus: dark ? "#ffd24d" : "#b35900",
    amounts: ramp(
      [
        [0, paper],
        [0.55, amount],
        [1, end],
      ],
      256,
    ),
    signs: [...against, ...speaking.slice(1)],
    plus,
    minus,
    amount,
    over: [190, 90, 255],
  };
}

export const LIGHT = theme(false);
export const DARK = theme(true);

const OKABE: readonly Rgb[] = [
  [0, 114, 178],
  [213, 94, 0],
  [0, 158, 115],
  [204, 121, 167],
  [230, 159, 0],
  [86, 180, 233],
  [123, 79, 163],
  [120, 120, 120],
];

/** The colour of head or series i of n: eight that everybody can tell apart, then evenly spaced hues. */
export function series(i: number, n: number, dark: boolean): Rgb {
  if (n <= OKABE.length) {
    const c = OKABE[i % OKABE.length]!;
    return dark ? (mixed(c, [255, 255, 255], 0.25).map(Math.round) as unknown as Rgb) : c;
  }
  // neighbouring hues differ in lightness too, so that they are told apart without hue
  const light = (dark ? 0.62 : 0.42) + (i % 2 ? 0.12 : -0.06);
  return hsl(i / n, 0.65, light);
}

function hsl(h: number, s: number, l: number): Rgb {
  const f = (k0: number): number => {
    const k = (k0 + h * 12) % 12;
    return Math.round(255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [f(0), f(8), f(4)];
}

/** Relative luminance as WCAG has it, 0..1. */
export function luminance(c: Rgb): number {
  const part = (v: number): number => (v <= 10.31475 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
}
