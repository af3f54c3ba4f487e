import { fitted, type Marks, type Raster, type Rgb, SIZE } from "./marks/marks.ts";
import { rgb, type Theme } from "./palette.ts";
import { number } from "./view.ts";

const gradients = new WeakMap<Theme, { amounts: Raster; signs: Raster }>();

function gradient(theme: Theme): { amounts: Raster; signs: Raster } {
  let found = gradients.get(theme);
  if (!found) {
    const cells = Uint8Array.from({ length: 64 }, (_, i) => Math.round((i * 255) / 63));
    const wide = Uint8Array.from({ length: 64 }, (_, i) => Math.round((i * 254) / 63));
    found = {
      amounts: { rows: 1, columns: 64, cells, colours: theme.amounts },
      signs: { rows: 1, columns: 64, cells: wide, colours: theme.signs.filter((_, i) => i % 2 === 0) },
    };
    gradients.set(theme, found);
  }
  return found;
}

/** What the colours of a map mean: 0 to the largest weight, by its square root. */
export function amountLegend(
  m: Marks,
  theme: Theme,
  x: number,
  y: number,
  top: number,
  what: string,
  width = 1e4,
): void {
  m.raster(x, y, 120, 9, gradient(theme).amounts);
  m.rect(x + 0.5, y + 0.5, 120, 9, { stroke: theme.line });
  m.text(x, y + 22, "0", { fill: theme.soft, size: 11 });
  m.text(x + 120, y + 22, number(top), { fill: theme.soft, size: 11, align: "end" });
  beside(m, theme, x, y, what, width);
}

/** What colours laid over a picture mean, on dark and on bright pixels. */
export function overLegend(
  m: Marks,
  theme: Theme,
  x: number,
  y: number,
  top: number,
  colours: readonly Rgb[],
  what: string,
  width = 1e4,
): void {
  m.rect(x, y, 120, 5, { fill: "#000" });
  m.rect(x, y + 5, 120, 5, { fill: "#fff" });
  const signed = colours.length > 1;
  for (let i = 0; i < 24; i++) {
    const share = signed ? (i - 11.5) / 11.5 : i / 23;
    const colour = colours[share < 0 ? 1 : 0]!;
    m.rect(x + i * 5, y, 5, 10, { fill: rgb(colour), alpha: OVER * Math.abs(share) });
  }
  m.rect(x + 0.5, y + 0.5, 120, 10, { stroke: theme.line });
  m.text(x, y + 22, signed ? number(-top) : "0", { fill: theme.soft, size: 11 });
  m.text(x + 120, y + 22, `${signed ? "+" : ""}${number(top)}`, { fill: theme.soft, size: 11, align: "end" });
  beside(m, theme, x, y, what, width);
}

/** Opacity of the strongest place of an overlay. */
export const OVER = 0.8;

/** What signed colours mean: blue against, orange for. */
export function signLegend(
  m: Marks,
  theme: Theme,
  x: number,
  y: number,
  top: number,
  words: [string, string],
  width = 1e4,
): void {
  m.raster(x, y, 120, 9, gradient(theme).signs);
  m.rect(x + 0.5, y + 0.5, 120, 9, { stroke: theme.line });
  m.text(x, y + 22, number(-top), { fill: theme.soft, size: 11 });
  m.text(x + 120, y + 22, `+${number(top)}`, { fill: theme.soft, size: 11, align: "end" });
  beside(m, theme, x, y, `${words[0]} ↔ ${words[1]}`, width);
}

/** What the colours mean: beside them, or below where there is no room. */
function beside(m: Marks, theme: Theme, x: number, y: number, what: string, width: number): void {
  const fits = m.measure(what, 11) <= width - x - 134;
  const style = { fill: theme.soft, size: 11 };
  if (fits) m.text(x + 130, y + 9, what, style);
  else m.text(Math.min(x, 4), y + 36, fitted(m, what, width - 8, 11), style);
}

export const LEGEND = 3 * SIZE + 8;
