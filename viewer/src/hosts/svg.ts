/**
 * Pictures without a browser: `renderSvg(view, manifest, chunks, options)` and `renderTable(...)`, pure and synchronous.
 *
 * chunks: name -> decompressed bytes (Uint8Array, or base64 text where an engine passes no bytes). options: width,
 * dark, lang, and any part of the viewer's state (example, site, head, pool, locked, ...).
 */

import { Data } from "../data.ts";
import { wrapped } from "../marks/marks.ts";
import { svgMarks } from "../marks/svg.ts";
import { DARK, LIGHT } from "../palette.ts";
import { initial, ordered } from "../pictures.ts";
import type { Manifest } from "../records.generated.ts";
import type { Values } from "../state.ts";
import { ownVerdict, type Scene, type Table, type View } from "../view.ts";
import { type Dictionary, translator } from "../words.ts";

export interface Options extends Partial<Values> {
  width?: number;
  dark?: boolean;
  dictionary?: Dictionary;
}

type Chunks = Record<string, Uint8Array | string>;

export function renderSvg(name: string, manifest: Manifest, chunks: Chunks, options: Options = {}): string {
  const { view, scene } = prepared(name, manifest, chunks, options);
  const { marks, svg } = svgMarks();
  const height = view.height(scene);
  const words = wrapped(marks.measure, view.declared(scene), scene.width - 16, 11);
  const notes = view.attention(scene) ? wrapped(marks.measure, caveat(manifest, scene), scene.width - 16, 11) : [];
  const answer = view.title === "view_image_overlay" ? pictured(scene) : "";
  const title = `${scene.t(view.title)}: ${scene.example.title}${answer}`;
  marks.text(8, 16, title, { bold: true, fill: scene.theme.ink });
  words.forEach((line, i) => marks.text(8, 34 + 15 * i, line, { fill: scene.theme.soft, size: 11 }));
  const above = 40 + 15 * words.length;
  const inner = svgMarks();
  view.draw(inner.marks, { ...scene, room: height });
  notes.forEach((line, i) => marks.text(8, above + height + 18 + 15 * i, line, { fill: scene.theme.soft, size: 11 }));
  const body = inner.svg(scene.width, height, title, scene.theme.paper).replace("<svg ", `<svg y="${above}" `);
  const whole = svg(scene.width, above + height + 16 + 15 * notes.length, title, scene.theme.paper);
  return whole.replace(/<\/svg>\n$/, `${body}</svg>\n`);
}

/** The answer behind the name of a picture, which does not show it as a text would. */
function pictured(scene: Scene): string {
  const { predicted, probability, title } = scene.example;
  if (!predicted || title.includes(predicted)) return "";
  return ` → ${predicted}${probability === null ? "" : ` (${probability.toFixed(3)})`}`;
}

export function renderTable(name: string, manifest: Manifest, chunks: Chunks, options: Options = {}): Table | null {
  const { view, scene } = prepared(name, manifest, chunks, options);
  return view.table(scene);
}

/** Which views this pack has data for: [name, title] in their order. */
export function viewNames(manifest: Manifest, example = 0, dictionary: Dictionary = {}): [string, string][] {
  const t = translator(dictionary);
  const one = manifest.examples[example];
  return one ? ordered.filter((v) => v.needs(manifest, one, false) === null).map((v) => [v.name, t(v.title)]) : [];
}

function prepared(name: string, manifest: Manifest, chunks: Chunks, options: Options): { view: View; scene: Scene } {
  const view = ordered.find((v) => v.name === name);
  const e = options.example ?? 0;
  const example = manifest.examples[e];
  const t = translator(options.dictionary);
  if (!view) throw new Error(t("no_view", { name, names: ordered.map((v) => v.name).join(", ") }));
  if (!example) throw new Error(t("no_example", { e, n: manifest.examples.length }));
  const missing = view.needs(manifest, example, false);
  if (missing !== null) throw new Error(`${name}: ${t(missing)}`);
  const data = new Data(
    manifest,
    (id) => {
      const got = chunks[id];
      if (got === undefined) throw new Error(t("no_chunk", { id }));
      return typeof got === "string" ? bytes(got) : got;
    },
    () => {},
  );
  const scene: Scene = {
    manifest,
    example,
    e,
    data,
    values: initial(manifest, e, options),
    theme: options.dark ? DARK : LIGHT,
    width: options.width ?? 900,
    scroll: 0,
    room: 0,
    still: true,
    t,
  };
  scene.values = { ...scene.values, ...view.start?.(scene), ...options };
  return { view, scene };
}

function caveat(manifest: Manifest, s: Scene): string {
  const v = ownVerdict(s);
  const own = v ? `${s.t("audit_says")}: ${v.headline}. ${v.sentence} ` : `${s.t("not_audited")} `;
  return own + manifest.caveat;
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function bytes(text: string): Uint8Array {
  const end = text.replace(/=+$/, "").length;
  const out = new Uint8Array((end * 3) >> 2);
  let [bits, held, at] = [0, 0, 0];
  for (let i = 0; i < end; i++) {
    held = (held << 6) | LETTERS.indexOf(text[i]!);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out[at++] = (held >> bits) & 255;
    }
  }
  return out;
}

Object.assign(globalThis, { renderSvg, renderTable, viewNames });
