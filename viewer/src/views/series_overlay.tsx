import { allHeads } from "../attention.tsx";
import { amountLegend, LEGEND, signLegend } from "../legend.ts";
import { fitted, type Marks, type Raster, SIZE } from "../marks/marks.ts";
import { series as colourOf, rgb } from "../palette.ts";
import { largest } from "../units.ts";
import { keys, number, type Scene, shown, siteName, type Table, type View } from "../view.ts";
import { MethodChips } from "./token_text.tsx";

const PLOT = 170;
const STRIP = 24;

const view: View = {
  name: "series_overlay",
  title: "view_series_overlay",
  order: 5,
  attention: () => true,
  needs(_, example) {
    if (!example.series || example.series.rate) return "no_series";
    return example.units.place_kind === "range" ? null : "no_stretches";
  },
  height: (s) => 30 + PLOT + (STRIP + 6) * strips(s).length + LEGEND + 18,
  draw(m, s) {
    const { theme } = s;
    const { steps, channels, as_spectrogram } = s.example.series!;
    const left = Math.min(150, s.width * 0.25);
    const [wide, above] = [s.width - left - 12, 20];
    const x = (t: number): number => left + (wide * t) / steps;
    const numbers = s.data.series(s.e);
    const u = s.example.units;
    const rows = strips(s).map((strip) => ({ ...strip, values: strip.values() }));
    const first = rows[0];
    const pointed = s.values.hover?.unit;
    const band = (y: number, h: number, values: Float32Array, signed: boolean, strength: number): void => {
      const top = largest(values);
      u.places.forEach((p, i) => {
        const v = values[i] ?? 0;
        if (!v || u.special[i]) return;
        const one = as_spectrogram && y === above ? theme.over : theme.amount;
        const colour = signed ? (v >= 0 ? theme.plus : theme.minus) : one;
        m.rect(x(p[0]!), y, Math.max(0.8, x(p[1]!) - x(p[0]!)), h, {
          fill: rgb(colour),
          alpha: strength * Math.min(1, Math.abs(v) / (top || 1)),
        });
      });
    };
    if (numbers && as_spectrogram) m.raster(left, above, wide, PLOT, spectrogram(s, numbers));
    if (first?.values) band(above, PLOT, first.values, first.signed, as_spectrogram ? 0.5 : 0.6);
    if (numbers && !as_spectrogram) lines(m, s, numbers, x, above);
    m.rect(left + 0.5, above + 0.5, wide, PLOT, { stroke: theme.line });
    if (as_spectrogram || channels > 1)
      m.text(left - 6, above + 12, s.t("n_channels", { n: channels }), { align: "end", fill: theme.soft, size: 11 });
    else if (numbers) {
      const [low, high] = extent(numbers);
      m.text(left - 6, above + 14, number(high), { align: "end", fill: theme.soft, size: 11 });
      m.text(left - 6, above + PLOT / 2 + 4, s.t("value"), { align: "end", fill: theme.soft, size: 11 });
      m.text(left - 6, above + PLOT - 5, number(low), { align: "end", fill: theme.soft, size: 11 });
    }
    if (!as_spectrogram && channels > 1)
      m.text(left - 6, above + 26, s.t("scaled_alone"), { align: "end", fill: theme.soft, size: 11 });
    m.text(left, above + PLOT + 14, "0", { fill: theme.soft, size: 11 });
    m.text(left + wide, above + PLOT + 14, s.t("n_steps", { n: steps }), {
      align: "end",
      fill: theme.soft,
      size: 11,
    });
    rows.forEach((row, i) => {
      const y = above + PLOT + 20 + i * (STRIP + 6);
      const size = left < 120 ? 10 : SIZE;
      m.text(left - 6, y + 16, fitted(m, row.name, left - 8, size), { align: "end", fill: theme.ink, size });
      if (row.values) band(y, STRIP, row.values, row.signed, 0.95);
      m.rect(left + 0.5, y + 0.5, wide, STRIP, { stroke: theme.line });
    });
    if (pointed !== undefined && u.places[pointed]) {
      const [a, b] = [x(u.places[pointed]![0]!), x(u.places[pointed]![1]!)];
      m.rect(a, above, Math.max(2, b - a), PLOT + 20 + rows.length * (STRIP + 6) - 6, {
        stroke: theme.focus,
        width: 1.5,
      });
    }
    const under = above + PLOT + 26 + rows.length * (STRIP + 6);
    if (rows.some((r) => r.signed))
      signLegend(m, theme, left, under, 1, [s.t("against_answer"), s.t("for_answer_share")], s.width);
    else amountLegend(m, theme, left, under, 1, s.t("share_of_largest"), s.width);
    return {
      hit(px) {
        const t = ((px - left) / wide) * steps;
        const i = u.places.findIndex((p, k) => !u.special[k] && t >= p[0]! && t < p[1]!);
        return i >= 0 ? { unit: i } : null;
      },
    };
  },
  declared(s) {
    const first = strips(s)[0];
    const what = s.example.series!.as_spectrogram
      ? s.t(s.theme.dark ? "spectrogram_bright" : "spectrogram_dark", {
          m: first?.name ?? "–",
        })
      : s.t("shaded_by", { m: first?.name ?? "–" });
    const violet = strips(s).every((x) => x.signed) ? "" : `; ${s.t("violet_unsigned")}`;
    const last = s.example.sites.at(-1);
    const row = last?.reading.length ? s.t("row_read") : s.t("mean_over_queries", { n: last?.rows ?? 0 });
    const weights = last
      ? `; ${s.t("weights_of", { what: `${siteName(last, s.t)}, ${s.t("mean_over_heads", { n: last.heads })}, ${row}` })}`
      : "";
    return `${what}; ${s.t("scaled_per_row")}${violet}${weights}`;
  },
  say(target, s) {
    if (target.unit === undefined) return "";
    const all = strips(s).map((x) => `${x.name} ${number(x.values()?.[target.unit!] ?? 0)}`);
    return `${shown(s.example.units.names[target.unit])}: ${all.join(", ")}`;
  },
  table(s): Table | null {
    const rows = strips(s).map((x) => ({ name: x.name, values: x.values() }));
    if (rows.some((r) => !r.values)) return null;
    const u = s.example.units;
    return {
      caption: s.t("every_stretch"),
      columns: [s.t("stretch"), ...rows.map((r) => r.name)],
      rows: u.names.flatMap((name, i) =>
        u.special[i] ? [] : [[shown(name), ...rows.map((r) => Number((r.values![i] ?? 0).toFixed(5)))]],
      ),
    };
  },
  controls: (c) => (c.example.methods.length ? <MethodChips c={c} /> : null),
  key(key, c) {
    const step = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
    if (!step) return false;
    const free = c.example.units.names.map((_, i) => i).filter((i) => !c.example.units.special[i]);
    const i = free.indexOf(c.state.hover.value?.unit ?? -1);
    c.state.hover.value = { unit: free[i < 0 ? 0 : Math.min(free.length - 1, Math.max(0, i + step))]! };
    return true;
  },
};
export default view;

export interface Strip {
  name: string;
  signed: boolean;
  values: () => Float32Array | null;
}

/** One row per method, and one for what the answer reads at the last site. */
export function strips(s: Scene): Strip[] {
  const out: Strip[] = s.values.methods
    .filter((i) => s.example.methods[i])
    .map((i) => ({
      name: s.example.methods[i]!.name,
      signed: s.example.methods[i]!.signed,
      values: () => s.data.relevance(s.e)?.[i] ?? null,
    }));
  const last = s.example.sites.length - 1;
  if (last >= 0) out.push({ name: s.t("weights"), signed: false, values: () => looked(s, last) });
  return out;
}

function looked(s: Scene, i: number): Float32Array | null {
  const at = s.example.sites[i]!;
  const grid = s.data.pooled(s.e, i, allHeads(at), "mean");
  if (!grid) return null;
  const out = new Float32Array(s.example.units.names.length);
  const axis = keys(s, at);
  const rows = at.reading.length ? at.reading : Array.from({ length: at.rows }, (_, q) => q);
  for (let k = 0; k < at.columns; k++) {
    const unit = axis.units[k] ?? -1;
    if (unit < 0) continue;
    for (const q of rows)
      out[unit]! +=
        (grid.values[Math.floor(q / grid.down) * grid.columns + Math.floor(k / grid.across)] ?? 0) / rows.length;
  }
  return out;
}

function extent(numbers: Float32Array): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const v of numbers) {
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  return [low, high];
}

function lines(m: Marks, s: Scene, numbers: Float32Array, x: (t: number) => number, above: number): void {
  const { steps, channels } = s.example.series!;
  for (let c = 0; c < channels; c++) {
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let t = 0; t < steps; t++) {
      low = Math.min(low, numbers[t * channels + c]!);
      high = Math.max(high, numbers[t * channels + c]!);
    }
    const points: number[] = [];
    for (let t = 0; t < steps; t++)
      points.push(
        x(t + 0.5),
        above + PLOT - 8 - ((PLOT - 16) * (numbers[t * channels + c]! - low)) / (high - low || 1),
      );
    const stroke = channels === 1 ? s.theme.ink : rgb(colourOf(c, channels, s.theme.dark));
    m.polyline(points, { stroke, width: 1.5 });
  }
}

function spectrogram(s: Scene, numbers: Float32Array): Raster {
  return s.data.once(`spectrogram:${s.e}:${s.theme.dark}`, () => {
    const { steps, channels } = s.example.series!;
    const [low, high] = extent(numbers);
    const cells = new Uint8Array(steps * channels);
    for (let t = 0; t < steps; t++)
      for (let c = 0; c < channels; c++)
        cells[(channels - 1 - c) * steps + t] = (255 * (numbers[t * channels + c]! - low)) / (high - low || 1);
    const grey = Array.from({ length: 256 }, (_, i) => {
      const v = s.theme.dark ? 20 + (i * 215) / 255 : 255 - i;
      const h = Math.round(v).toString(16).padStart(2, "0");
      return `#${h}${h}${h}`;
    });
    return { rows: channels, columns: steps, cells, colours: grey };
  });
}
