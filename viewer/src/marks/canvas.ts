import { FONT, type Marks, MONO, type Raster, type Shape, SIZE, type TextStyle } from "./marks.ts";

const images = new WeakMap<Raster, HTMLCanvasElement>();
const widths = new Map<string, number>();

/** Marks on a canvas. The context is scaled for the device beforehand. */
export function canvasMarks(context: CanvasRenderingContext2D): Marks {
  const ink = (shape: Shape): void => {
    context.globalAlpha = shape.alpha ?? 1;
    if (shape.fill) context.fillStyle = shape.fill;
    if (shape.stroke) context.strokeStyle = shape.stroke;
    context.lineWidth = shape.width ?? 1;
    if (shape.dash) context.setLineDash([...shape.dash]);
  };
  const finish = (shape: Shape): void => {
    if (shape.fill) context.fill();
    if (shape.stroke) context.stroke();
    if (shape.dash) context.setLineDash([]);
    context.globalAlpha = 1;
  };
  const along = (points: readonly number[]): void => {
    context.beginPath();
    for (let i = 0; i + 1 < points.length; i += 2) {
      if (i) context.lineTo(points[i]!, points[i + 1]!);
      else context.moveTo(points[i]!, points[i + 1]!);
    }
  };
  const font = (size: number, bold?: boolean, mono?: boolean): string =>
    `${bold ? "600 " : ""}${size}px ${mono ? MONO : FONT}`;
  return {
    kind: "canvas",
    rect(x, y, w, h, shape) {
      ink(shape);
      if (shape.fill) context.fillRect(x, y, w, h);
      if (shape.stroke) context.strokeRect(x, y, w, h);
      if (shape.dash) context.setLineDash([]);
      context.globalAlpha = 1;
    },
    line(x1, y1, x2, y2, shape) {
      ink(shape);
      context.beginPath();
      context.moveTo(x1, y1);
      context.lineTo(x2, y2);
      finish(shape);
    },
    polyline(points, shape) {
      ink(shape);
      along(points);
      finish(shape);
    },
    polygon(points, shape) {
      ink(shape);
      along(points);
      context.closePath();
      finish(shape);
    },
    band(x1, a1, b1, x2, a2, b2, shape) {
      ink(shape);
      const m = (x1 + x2) / 2;
      context.beginPath();
      context.moveTo(x1, a1);
      context.bezierCurveTo(m, a1, m, a2, x2, a2);
      context.lineTo(x2, b2);
      context.bezierCurveTo(m, b2, m, b1, x1, b1);
      context.closePath();
      finish(shape);
    },
    curve(x1, y1, x2, y2, shape, upright) {
      ink(shape);
      context.beginPath();
      context.moveTo(x1, y1);
      if (upright) context.bezierCurveTo(x1, (y1 + y2) / 2, x2, (y1 + y2) / 2, x2, y2);
      else context.bezierCurveTo((x1 + x2) / 2, y1, (x1 + x2) / 2, y2, x2, y2);
      finish(shape);
    },
    text(x, y, text, style: TextStyle = {}) {
      context.globalAlpha = style.alpha ?? 1;
      context.font = font(style.size ?? SIZE, style.bold, style.mono);
      context.fillStyle = style.fill ?? "#000";
      context.textAlign = style.align === "middle" ? "center" : (style.align ?? "start");
      context.textBaseline = "alphabetic";
      context.direction = "ltr";
      if (style.rotate) {
        context.save();
        context.translate(x, y);
        context.rotate((style.rotate * Math.PI) / 180);
        context.fillText(text, 0, 0);
        context.restore();
      } else context.fillText(text, x, y);
      context.globalAlpha = 1;
    },
    raster(x, y, w, h, raster) {
      let image = images.get(raster);
      if (!image) {
        image = painted(raster);
        images.set(raster, image);
      }
      context.imageSmoothingEnabled = w < raster.columns || h < raster.rows;
      context.drawImage(image, x, y, w, h);
    },
    clip(x, y, w, h, draw) {
      context.save();
      context.beginPath();
      context.rect(x, y, w, h);
      context.clip();
      draw();
      context.restore();
    },
    measure(text, size = SIZE, bold) {
      const key = `${size}${bold ? "b" : ""}:${text}`;
      let width = widths.get(key);
      if (width === undefined) {
        context.font = font(size, bold);
        width = context.measureText(text).width;
        if (widths.size > 20000) widths.clear();
        widths.set(key, width);
      }
      return width;
    },
  };
}

function painted(raster: Raster): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = raster.columns;
  canvas.height = raster.rows;
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  const image = context.createImageData(raster.columns, raster.rows);
  const out = new Uint32Array(image.data.buffer);
  const { cells, colours } = raster;
  if (colours) {
    const table = Uint32Array.from(colours, packed);
    for (let i = 0; i < out.length; i++) out[i] = table[cells[i]!]!;
  } else
    for (let i = 0; i < out.length; i++)
      out[i] = 0xff000000 | (cells[3 * i + 2]! << 16) | (cells[3 * i + 1]! << 8) | cells[3 * i]!;
  context.putImageData(image, 0, 0);
  return canvas;
}

/** "#rrggbb" as the little-endian pixel of a canvas. */
function packed(colour: string): number {
  const n = Number.parseInt(colour.slice(1), 16);
  return (0xff000000 | ((n & 255) << 16) | (n & 0xff00) | (n >> 16)) >>> 0;
}
