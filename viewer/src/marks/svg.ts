import { FONT, type Marks, MONO, type Raster, type Shape, SIZE, type TextStyle } from "./marks.ts";

/** Marks as SVG text: texts and paths, no script, no reference to anything outside. Needs no browser. */
export function svgMarks(): { marks: Marks; svg(width: number, height: number, title: string, paper: string): string } {
  const out: string[] = [];
  const defs: string[] = [];
  const marks: Marks = {
    kind: "svg",
    rect(x, y, w, h, shape) {
      out.push(
        `<rect x="${n(x)}" y="${n(y)}" width="${n(Math.max(0, w))}" height="${n(Math.max(0, h))}"${ink(shape)}/>`,
      );
    },
    line(x1, y1, x2, y2, shape) {
      out.push(`<path d="M${n(x1)} ${n(y1)}L${n(x2)} ${n(y2)}"${ink(shape)}/>`);
    },
    polyline(points, shape) {
      out.push(`<path d="${path(points)}"${ink(shape)}/>`);
    },
    polygon(points, shape) {
      out.push(`<path d="${path(points)}Z"${ink(shape)}/>`);
    },
    band(x1, a1, b1, x2, a2, b2, shape) {
      const m = n((x1 + x2) / 2);
      const there = `M${n(x1)} ${n(a1)}C${m} ${n(a1)} ${m} ${n(a2)} ${n(x2)} ${n(a2)}`;
      out.push(`<path d="${there}L${n(x2)} ${n(b2)}C${m} ${n(b2)} ${m} ${n(b1)} ${n(x1)} ${n(b1)}Z"${ink(shape)}/>`);
    },
    curve(x1, y1, x2, y2, shape, upright) {
      const [mx, my] = [n((x1 + x2) / 2), n((y1 + y2) / 2)];
      const bend = upright ? `${n(x1)} ${my} ${n(x2)} ${my}` : `${mx} ${n(y1)} ${mx} ${n(y2)}`;
      out.push(`<path d="M${n(x1)} ${n(y1)}C${bend} ${n(x2)} ${n(y2)}"${ink(shape)}/>`);
    },
    text(x, y, text, style: TextStyle = {}) {
      const turn = style.rotate ? ` transform="rotate(${n(style.rotate)} ${n(x)} ${n(y)})"` : "";
      const anchor = style.align && style.align !== "start" ? ` text-anchor="${style.align}"` : "";
      const family = style.mono ? ` font-family="${escaped(MONO)}"` : "";
      const weight = style.bold ? ' font-weight="600"' : "";
      const alpha = style.alpha !== undefined ? ` fill-opacity="${n(style.alpha)}"` : "";
      const fill = escaped(style.fill ?? "#000");
      const size = style.size === undefined || style.size === SIZE ? "" : ` font-size="${n(style.size)}"`;
      out.push(
        `<text x="${n(x)}" y="${n(y)}"${size}${anchor}${family}${weight}${alpha}${turn} fill="${fill}">${escaped(text)}</text>`,
      );
    },
    raster(x, y, w, h, raster) {
      out.push(cells(x, y, w, h, raster));
    },
    clip(x, y, w, h, draw) {
      const id = `c${defs.length}`;
      defs.push(
        `<clipPath id="${id}"><rect x="${n(x)}" y="${n(y)}" width="${n(Math.max(0, w))}" height="${n(Math.max(0, h))}"/></clipPath>`,
      );
      out.push(`<g clip-path="url(#${id})">`);
      draw();
      out.push("</g>");
    },
    measure: (text, size = SIZE, bold) => width(text) * size * (bold ? 1.06 : 1),
  };
  const svg = (w: number, h: number, title: string, paper: string): string =>
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${n(w)} ${n(h)}" width="${n(w)}" height="${n(h)}" ` +
    `font-family="${escaped(FONT)}" font-size="${SIZE}" role="img"><title>${escaped(title)}</title>` +
    `<defs>${defs.join("")}</defs><rect width="100%" height="100%" fill="${paper}"/>${out.join("\n")}</svg>\n`;
  return { marks, svg };
}

const n = (value: number): string => String(Math.round(value * 100) / 100);

function path(points: readonly number[]): string {
  let d = "";
  for (let i = 0; i + 1 < points.length; i += 2) d += `${i ? "L" : "M"}${n(points[i]!)} ${n(points[i + 1]!)}`;
  return d;
}

function ink(shape: Shape): string {
  const alpha = shape.alpha ?? 1;
  const faint = alpha < 1 ? Math.round(alpha * 1000) / 1000 : 0;
  let said = ` fill="${shape.fill ? escaped(shape.fill) : "none"}"`;
  if (shape.fill && faint) said += ` fill-opacity="${faint}"`;
  if (shape.stroke) {
    said += ` stroke="${escaped(shape.stroke)}" stroke-width="${n(shape.width ?? 1)}"`;
    if (faint) said += ` stroke-opacity="${faint}"`;
    if (shape.dash) said += ` stroke-dasharray="${shape.dash.map(n).join(" ")}"`;
  }
  return said;
}

/** Cells of one colour are one path; runs along a row are one rectangle. The first colour is the paper's. */
function cells(x: number, y: number, w: number, h: number, raster: Raster): string {
  const { rows, columns, colours } = raster;
  const [dx, dy] = [w / columns, h / rows];
  const paths = new Map<string, string[]>();
  const blank = raster.blank === undefined ? null : colours?.[raster.blank];
  for (let r = 0; r < rows; r++) {
    let from = 0;
    let colour = at(raster, r, 0);
    for (let c = 1; c <= columns; c++) {
      const next = c < columns ? at(raster, r, c) : "";
      if (next === colour) continue;
      if (colour !== blank) {
        const d = `M${n(x + from * dx)} ${n(y + r * dy)}h${n((c - from) * dx)}v${n(dy)}h${n((from - c) * dx)}z`;
        const list = paths.get(colour);
        if (list) list.push(d);
        else paths.set(colour, [d]);
      }
      from = c;
      colour = next;
    }
  }
  const drawn = Array.from(paths, ([colour, d]) => `<path fill="${colour}" d="${d.join("")}"/>`);
  return `<g shape-rendering="crispEdges">${drawn.join("")}</g>`;
}

function at(raster: Raster, r: number, c: number): string {
  const i = r * raster.columns + c;
  if (raster.colours) return raster.colours[raster.cells[i]!]!;
  // 5 bits a channel: runs get longer, and nobody sees it
  const part = (k: number): string => (raster.cells[3 * i + k]! & 0xf8).toString(16).padStart(2, "0");
  return `#${part(0)}${part(1)}${part(2)}`;
}

export function escaped(text: string): string {
  let out = "";
  for (const c of text) {
    const code = c.codePointAt(0) ?? 0;
    if (c === "&") out += "&amp;";
    else if (c === "<") out += "&lt;";
    else if (c === ">") out += "&gt;";
    else if (c === '"') out += "&quot;";
    else if (code < 32 && c !== "\n" && c !== "\t") out += "\ufffd";
    else if ((code >= 0xd800 && code <= 0xdfff) || code === 0xfffe || code === 0xffff) out += "\ufffd";
    else out += c;
  }
  return out;
}

const NARROW = "iljtfrI.,:;'|!()[]{} ";
const WIDE = "mwMW@%";

/** Width of a text in ems, from classes of letters: there is no font to ask here. */
function width(text: string): number {
  let sum = 0;
  for (const c of text) {
    const code = c.codePointAt(0) ?? 0;
    if (code >= 0x1100 && code < 0xfe00) sum += code > 0x2e80 || code < 0x1200 ? 1 : 0.6;
    else if (NARROW.includes(c)) sum += 0.32;
    else if (WIDE.includes(c)) sum += 0.88;
    else sum += c >= "A" && c <= "Z" ? 0.68 : 0.57;
  }
  return sum;
}
