import { amountLegend, LEGEND, signLegend } from "../legend.ts";
import { fitted, type Raster, SIZE } from "../marks/marks.ts";
import { rgb } from "../palette.ts";
import { largest } from "../units.ts";
import { type Context, number, type Scene, shown, type Table, type View } from "../view.ts";
import { strips } from "./series_overlay.tsx";
import { MethodChips } from "./token_text.tsx";

const WAVE = 90;
const MAP = 90;
const STRIP = 22;
const BANDS = 48;
const FFT = 512;

const view: View = {
  name: "sound_overlay",
  title: "view_sound_overlay",
  order: 5,
  attention: () => true,
  needs(_, example) {
    if (!example.series?.rate) return "no_sound";
    return example.units.place_kind === "range" ? null : "no_stretches";
  },
  height: (s) => 20 + WAVE + 4 + MAP + 20 + (STRIP + 6) * strips(s).length + LEGEND + 18,
  draw(m, s) {
    const { theme } = s;
    const left = Math.min(150, s.width * 0.25);
    const [wide, above] = [s.width - left - 12, 16];
    const end = length(s);
    const x = (place: number): number => left + (wide * place) / end;
    const u = s.example.units;
    const rows = strips(s).map((strip) => ({ ...strip, values: strip.values() }));
    const first = rows[0];
    const samples = s.data.series(s.e);
    const below = above + WAVE + 4;
    const band = (y: number, h: number, values: Float32Array, signed: boolean, strength: number): void => {
      const top = largest(values);
      u.places.forEach((p, i) => {
        const v = values[i] ?? 0;
        if (!v || u.special[i]) return;
        const colour = signed ? (v >= 0 ? theme.plus : theme.minus) : theme.amount;
        m.rect(x(p[0]!), y, Math.max(0.8, x(p[1]!) - x(p[0]!)), h, {
          fill: rgb(colour),
          alpha: strength * Math.min(1, Math.abs(v) / (top || 1)),
        });
      });
    };
    if (first?.values) band(above, WAVE, first.values, first.signed, 0.6);
    if (samples) {
      const columns = Math.max(1, Math.min(600, Math.floor(wide / 2)));
      const peak = largest(samples) || 1;
      const step = samples.length / columns;
      for (let c = 0; c < columns; c++) {
        let most = 0;
        for (let t = Math.floor(c * step); t < (c + 1) * step; t++) most = Math.max(most, Math.abs(samples[t] ?? 0));
        const tall = Math.max(0.5, (most / peak) * (WAVE - 8));
        m.rect(left + (c * wide) / columns, above + (WAVE - tall) / 2, Math.max(0.5, (0.7 * wide) / columns), tall, {
          fill: theme.ink,
        });
      }
      m.raster(left, below, wide, MAP, spectrogram(s, samples));
      if (first?.values) band(below, MAP, first.values, first.signed, 0.35);
    }
    m.rect(left + 0.5, above + 0.5, wide, WAVE, { stroke: theme.line });
    m.rect(left + 0.5, below + 0.5, wide, MAP, { stroke: theme.line });
    const { rate, steps } = s.example.series!;
    const soft = { align: "end" as const, fill: theme.soft, size: 11 };
    m.text(left - 6, below + 12, s.t("hertz", { n: Math.round(rate / 2) }), soft);
    m.text(left - 6, below + MAP - 4, s.t("hertz", { n: 0 }), soft);
    m.text(left, below + MAP + 14, "0", { fill: theme.soft, size: 11 });
    m.text(left + wide, below + MAP + 14, s.t("n_seconds", { n: number(steps / rate) }), soft);
    rows.forEach((row, i) => {
      const y = below + MAP + 20 + i * (STRIP + 6);
      const size = left < 120 ? 10 : SIZE;
      m.text(left - 6, y + 15, fitted(m, row.name, left - 8, size), { align: "end", fill: theme.ink, size });
      if (row.values) band(y, STRIP, row.values, row.signed, 0.95);
      m.rect(left + 0.5, y + 0.5, wide, STRIP, { stroke: theme.line });
    });
    const pointed = s.values.hover?.unit;
    if (pointed !== undefined && u.places[pointed]) {
      const [a, b] = [x(u.places[pointed]![0]!), x(u.places[pointed]![1]!)];
      const tall = below + MAP + 14 + rows.length * (STRIP + 6) - above;
      m.rect(a, above, Math.max(2, b - a), tall, { stroke: theme.focus, width: 1.5 });
    }
    const under = below + MAP + 26 + rows.length * (STRIP + 6);
    if (rows.some((r) => r.signed))
      signLegend(m, theme, left, under, 1, [s.t("against_answer"), s.t("for_answer_share")], s.width);
    else amountLegend(m, theme, left, under, 1, s.t("share_of_largest"), s.width);
    return {
      hit(px) {
        const place = ((px - left) / wide) * end;
        const i = u.places.findIndex((p, k) => !u.special[k] && place >= p[0]! && place < p[1]!);
        return i >= 0 ? { unit: i } : null;
      },
    };
  },
  declared: (s) => `${s.t("sound_shaded_by", { m: strips(s)[0]?.name ?? "–" })}; ${s.t("scaled_per_row")}`,
  say(target, s) {
    if (target.unit === undefined) return "";
    const all = strips(s).map((strip) => `${strip.name} ${number(strip.values()?.[target.unit!] ?? 0)}`);
    return `${shown(s.example.units.names[target.unit])}: ${all.join(", ")}`;
  },
  table(s): Table | null {
    const rows = strips(s).map((strip) => ({ name: strip.name, values: strip.values() }));
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
  controls: (c) => (
    <>
      {audible(c) && (
        <button type="button" onClick={() => play(c, 0, length(c))}>
          {c.t("play_sound")}
        </button>
      )}
      {c.example.methods.length ? <MethodChips c={c} /> : null}
    </>
  ),
  click(target, c) {
    const place = target.unit === undefined ? undefined : c.example.units.places[target.unit];
    if (place && audible(c)) play(c, place[0]!, Math.min(length(c), place[0]! + length(c) / 8));
  },
};
export default view;

/** Where the places of the units end: samples at the rate of the model, which may differ from that of the sound. */
function length(s: Scene): number {
  return s.example.units.places.at(-1)?.[1] ?? s.example.series!.steps;
}

/** Browsers play these rates; features at 100 per second are no sound. */
const audible = (s: Scene): boolean => s.example.series!.rate >= 3000 && s.example.series!.rate <= 384_000;

let playing: AudioBufferSourceNode | null = null;

/** The sound between two places of units, in place of what was being played. */
function play(c: Context, from: number, to: number): void {
  const samples = c.data.series(c.e);
  if (!samples) return;
  const { rate } = c.example.series!;
  const seconds = samples.length / rate / length(c);
  const context = new AudioContext();
  const buffer = context.createBuffer(1, samples.length, rate);
  buffer.getChannelData(0).set(samples);
  playing?.stop();
  playing = context.createBufferSource();
  playing.buffer = buffer;
  playing.connect(context.destination);
  playing.onended = () => void context.close();
  playing.start(0, from * seconds, (to - from) * seconds);
}

/** Loudness by time and frequency, 60 dB deep: a Fourier transform of every window, in bands. */
export function spectrogram(s: Scene, samples: Float32Array): Raster {
  return s.data.once(`sound:${s.e}:${s.theme.dark}`, () => {
    const columns = Math.max(1, Math.min(200, Math.floor(samples.length / (FFT / 2))));
    const loud = new Float32Array(columns * BANDS);
    for (let c = 0; c < columns; c++) {
      const start = columns > 1 ? Math.floor((c * Math.max(0, samples.length - FFT)) / (columns - 1)) : 0;
      const power = spectrum(samples.subarray(start, start + FFT));
      for (let b = 0; b < BANDS; b++) {
        const [low, high] = [Math.floor((b * power.length) / BANDS), Math.floor(((b + 1) * power.length) / BANDS)];
        let sum = 0;
        for (let k = low; k < high; k++) sum += power[k]!;
        loud[c * BANDS + b] = 10 * Math.log10(sum / Math.max(1, high - low) + 1e-12);
      }
    }
    const top = loud.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    const cells = new Uint8Array(columns * BANDS);
    for (let c = 0; c < columns; c++)
      for (let b = 0; b < BANDS; b++)
        cells[(BANDS - 1 - b) * columns + c] = 255 * Math.max(0, Math.min(1, (loud[c * BANDS + b]! - top + 60) / 60));
    const grey = Array.from({ length: 256 }, (_, i) => {
      const v = s.theme.dark ? 20 + (i * 215) / 255 : 255 - i;
      const h = Math.round(v).toString(16).padStart(2, "0");
      return `#${h}${h}${h}`;
    });
    return { rows: BANDS, columns, cells, colours: grey };
  });
}

/** Powers of the lower half of the frequencies of a window (Hann, filled up with zeros), by a radix-2 transform. */
export function spectrum(window: Float32Array): Float32Array {
  const [re, im] = [new Float32Array(FFT), new Float32Array(FFT)];
  const bits = Math.log2(FFT);
  for (let i = 0; i < FFT; i++) {
    let j = 0;
    for (let b = 0; b < bits; b++) j |= ((i >> b) & 1) << (bits - 1 - b);
    re[j] = (window[i] ?? 0) * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / (FFT - 1)));
  }
  for (let size = 2; size <= FFT; size *= 2)
    for (let start = 0; start < FFT; start += size)
      for (let k = 0; k < size / 2; k++) {
        const angle = (-2 * Math.PI * k) / size;
        const [c, d] = [Math.cos(angle), Math.sin(angle)];
        const [a, b] = [start + k, start + k + size / 2];
        const [x, y] = [re[b]! * c - im[b]! * d, re[b]! * d + im[b]! * c];
        [re[b], im[b], re[a], im[a]] = [re[a]! - x, im[a]! - y, re[a]! + x, im[a]! + y];
      }
  return re.slice(0, FFT / 2).map((v, i) => v * v + im[i]! * im[i]!);
}
