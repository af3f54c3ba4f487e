import { Controls, picked, selection } from "../attention.tsx";
import { LEGEND, OVER, overLegend } from "../legend.ts";
import { fitted, type Raster } from "../marks/marks.ts";
import { rgb } from "../palette.ts";
import { Choice } from "../parts.tsx";
import type { AxisEntry, ExampleEntry } from "../records.generated.ts";
import { largest } from "../units.ts";
import { type Context, keys, number, queries, type Scene, shown, site, type Table, type View } from "../view.ts";

const LINE = 24;

/** A place in the picture with its worth: a unit, or a key of the attention. */
interface Patch {
  at: number;
  box: number[];
}

const boxed = (axis: AxisEntry | undefined): boolean => !!axis?.boxes.some((b) => b.length);
const mapped = (example: ExampleEntry): boolean => example.sites.some((x) => boxed(example.axes[x.keys]));

const view: View = {
  name: "image_overlay",
  title: "Image",
  order: 5,
  attention: () => true,
  needs(_, example) {
    if (!example.picture) return "there is no picture";
    return mapped(example) || (example.units.place_kind === "box" && example.methods.length)
      ? null
      : "nothing is known about its patches";
  },
  height: (s) => place(s).h + LEGEND + 20 + (words(s).length ? 34 + LINE * wordLines(s) : 0),
  draw(m, s) {
    const { theme } = s;
    const f = place(s);
    const image = pixels(s);
    if (image) m.raster(f.x, f.y - s.scroll, f.w, f.h, image);
    m.rect(f.x - 0.5, f.y - 0.5 - s.scroll, f.w + 1, f.h + 1, { stroke: theme.line });
    if (image && f.twice) {
      m.raster(f.x + f.w + 16, f.y - s.scroll, f.w, f.h, image);
      m.text(f.x + f.w + 16, f.y + f.h + 18 - s.scroll, s.t("the picture alone"), { fill: theme.soft, size: 11 });
    }
    const found = worths(s);
    if (!found) {
      m.text(f.x + f.w + 12, f.y + 20, s.t("loading…"), { fill: theme.soft });
      return {};
    }
    const top = largest(found.patches.map((p) => p.worth));
    for (const p of found.patches) {
      const [t, l, b, r] = p.box as [number, number, number, number];
      const colour = found.signed ? (p.worth >= 0 ? theme.plus : theme.minus) : theme.over;
      const [x, y] = [f.x + l * f.scale, f.y + t * f.scale - s.scroll];
      m.rect(x, y, (r - l) * f.scale, (b - t) * f.scale, {
        fill: rgb(colour),
        alpha: OVER * Math.min(1, Math.abs(p.worth) / (top || 1)),
      });
    }
    for (const p of found.patches) {
      const lit = s.values.hover?.part !== "word" && s.values.hover?.key === p.at;
      const asked = s.values.locked?.part === "patch" && (s.values.locked.query ?? s.values.locked.key) === p.at;
      if (!lit && !asked) continue;
      const [t, l, b, r] = p.box as [number, number, number, number];
      m.rect(f.x + l * f.scale, f.y + t * f.scale - s.scroll, (r - l) * f.scale, (b - t) * f.scale, {
        stroke: theme.focus,
        width: 2.5,
      });
    }
    const under = f.y + f.h + 8 - s.scroll;
    const colours = found.signed ? [theme.plus, theme.minus] : [theme.over];
    const means = found.signed
      ? `${s.t("against the answer")} ↔ ${s.t("for the answer")}`
      : s.t("weight (opacity, on dark and on bright pixels)");
    overLegend(m, theme, f.x, under, top, colours, means, f.twice ? f.x + f.w : s.width);
    const spots = laidWords(s);
    if (spots.length)
      m.text(
        f.x,
        under + LEGEND + 6,
        s.t(
          back(s) < 0
            ? "places that are no patches: pick one to see what it looks at"
            : "how much each place looks at the picked patch",
        ),
        {
          fill: theme.soft,
          size: 11,
        },
      );
    const most = largest(found.words.map((w) => w.worth));
    for (const spot of spots) {
      const [x, y] = [f.x + spot.x, under + LEGEND + 14 + spot.line * LINE];
      const worth = found.words.find((w) => w.at === spot.at)?.worth ?? 0;
      if (worth)
        m.rect(x, y, spot.w, LINE - 4, { fill: rgb(theme.amount), alpha: 0.75 * Math.min(1, worth / (most || 1)) });
      const asked = s.values.locked?.part === "word" && s.values.locked.query === spot.at;
      const lit = s.values.hover?.part === "word" && s.values.hover.query === spot.at;
      m.rect(x, y, spot.w, LINE - 4, { stroke: asked || lit ? theme.focus : theme.line, width: asked || lit ? 2 : 1 });
      m.text(x + 5, y + 14, fitted(m, spot.text, spot.w - 8), { fill: theme.ink, bold: asked });
    }
    return {
      hit(x, y) {
        for (const spot of spots) {
          const [left, up] = [f.x + spot.x, under + LEGEND + 14 + spot.line * LINE];
          if (x >= left && x <= left + spot.w && y >= up && y <= up + LINE - 4) return { query: spot.at, part: "word" };
        }
        const [px, py] = [(x - f.x) / f.scale, (y + s.scroll - f.y) / f.scale];
        const hit = found.patches.find((p) => py >= p.box[0]! && px >= p.box[1]! && py < p.box[2]! && px < p.box[3]!);
        return hit ? { key: hit.at, part: "patch" } : null;
      },
    };
  },
  declared(s) {
    const method = relevanceOf(s);
    if (method >= 0)
      return `${s.t("relevance by {m}", { m: s.example.methods[method]!.name })}; ${s.t("patches on the picture")}`;
    const at = site(s)!;
    const row = asked(s);
    const patch = back(s);
    const from =
      patch >= 0
        ? s.t("who looks at {x}; on the picture: mean over {n} queries", {
            x: shown(keys(s, at).names[patch]),
            n: at.rows,
          })
        : row < 0
          ? s.t("mean over {n} queries", { n: at.rows })
          : s.t("seen from {x}", { x: shown(queries(s, at).names[row]) });
    const plain = { ...s.values, hideSpecial: false, pair: "all" as const, step: -1 };
    return `${s.t("attention")}: ${selection({ ...s, values: plain })}; ${from}`;
  },
  say(target, s) {
    const found = worths(s);
    if (!found) return "";
    if (target.part === "word") {
      const at = site(s)!;
      const worth = back(s) < 0 ? undefined : found.words.find((w) => w.at === target.query)?.worth;
      const said = worth === undefined ? s.t("click to see its patches") : number(worth);
      return `${shown(queries(s, at).names[target.query ?? 0])}: ${said}`;
    }
    const p = found.patches.find((x) => x.at === target.key);
    const name = found.axis.names[target.key ?? 0];
    return p ? `${shown(name)}: ${number(p.worth)}` : "";
  },
  table(s): Table | null {
    const found = worths(s);
    if (!found) return null;
    const words = back(s) < 0 ? found.axis : queries(s, site(s)!);
    const named = (list: Worth[], axis: AxisEntry): [string, Worth][] => list.map((p) => [shown(axis.names[p.at]), p]);
    // where words look back at a patch, their weights are another quantity than the mean on the picture
    const rows =
      back(s) < 0 ? [...named(found.patches, found.axis), ...named(found.words, words)] : named(found.words, words);
    rows.sort(([, a], [, b]) => Math.abs(b.worth) - Math.abs(a.worth) || a.at - b.at);
    return {
      caption: view.declared(s),
      columns: [s.t("place"), s.t("worth")],
      rows: rows.slice(0, 60).map(([name, p]) => [name, Number(p.worth.toFixed(6))]),
    };
  },
  controls(c) {
    const options: [string, string][] = [];
    if (mapped(c.example)) options.push(["attention", c.t("attention")]);
    if (c.example.units.place_kind === "box")
      c.example.methods.forEach((x, i) => options.push([`method ${i}`, x.name]));
    const method = relevanceOf(c);
    return (
      <>
        <Choice
          label={c.t("Shown")}
          value={method >= 0 ? `method ${method}` : "attention"}
          options={options}
          pick={(v) => {
            c.state.shown.value = v;
          }}
        />
        {method < 0 && <Controls c={c} filters={false} />}
      </>
    );
  },
  click(target, c) {
    if (relevanceOf(c) >= 0) return;
    const query = target.part === "word" ? target.query! : keyToQuery(c, target.key!);
    const old = c.state.locked.value;
    if (query < 0) {
      c.state.locked.value = old?.key === target.key ? null : { key: target.key!, part: "patch" };
      return;
    }
    c.state.locked.value = old?.query === query ? null : { query, part: target.part ?? "patch" };
  },
  key(key, c) {
    const found = worths(c);
    if (!found) return false;
    const all = found.patches.map((p) => p.at);
    const wide = c.example.units.shape.at(-1) || Math.round(Math.sqrt(all.length)) || 1;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -wide, ArrowDown: wide }[key];
    if (key === "Enter" && c.state.hover.value) view.click?.(c.state.hover.value, c);
    else if (step) {
      const i = all.indexOf(c.state.hover.value?.key ?? -1);
      c.state.hover.value = { key: all[i < 0 ? 0 : Math.min(all.length - 1, Math.max(0, i + step))]!, part: "patch" };
    } else return false;
    return true;
  },
  start(s) {
    const i = s.example.sites.map((x) => boxed(s.example.axes[x.keys])).lastIndexOf(true);
    return i >= 0
      ? { site: i, shown: "attention", pool: s.example.sites[i]!.heads > 1 ? "mean" : "one" }
      : { shown: "method 0" };
  },
};
export default view;

/** The method whose relevance is shown, -1 for attention. */
function relevanceOf(s: Scene): number {
  if (s.values.shown.startsWith("method "))
    return Math.min(Number(s.values.shown.slice(7)), s.example.methods.length - 1);
  return mapped(s.example) ? -1 : 0;
}

/** The query row that is looked from: what the user picked, what the answer reads; -1 is the mean of all. */
function asked(s: Scene): number {
  const at = site(s)!;
  const picked = s.values.locked?.query;
  if (picked !== undefined && picked < at.rows) return picked;
  return at.reading[0] ?? (at.rows === 1 ? 0 : -1);
}

/** The patch whose lookers are shown, where those who look are no patches themselves (words of another tower); or -1. */
function back(s: Scene): number {
  const { locked } = s.values;
  return relevanceOf(s) < 0 && locked?.part === "patch" && locked.query === undefined ? (locked.key ?? -1) : -1;
}

function keyToQuery(c: Context, key: number): number {
  const at = site(c)!;
  return at.queries === at.keys ? key : -1;
}

type Worth = Patch & { worth: number };

function worths(s: Scene): { patches: Worth[]; words: Worth[]; signed: boolean; axis: AxisEntry } | null {
  const method = relevanceOf(s);
  if (method >= 0) {
    const values = s.data.relevance(s.e)?.[method];
    if (!values) return null;
    const u = s.example.units;
    const patches = u.names
      .map((_, i) => ({ at: i, box: u.places[i] ?? [], worth: values[i] ?? 0 }))
      .filter((p) => !u.special[p.at]);
    const axis = { names: u.names, units: [], special: u.special, part: u.part, boxes: u.places };
    return { patches, words: [], signed: s.example.methods[method]!.signed, axis };
  }
  const { at, grid } = picked(s);
  if (!grid) return null;
  const axis = keys(s, at);
  const row = asked(s);
  const rows = row < 0 ? Array.from({ length: grid.rows }, (_, q) => q) : [Math.floor(row / grid.down)];
  const out: Worth[] = axis.names.map((_, k) => {
    let sum = 0;
    for (const q of rows) sum += grid.values[q * grid.columns + Math.floor(k / grid.across)] ?? 0;
    return { at: k, box: axis.boxes[k] ?? [], worth: sum / rows.length };
  });
  const patch = back(s);
  const lookers =
    patch < 0
      ? out.filter((p) => !p.box.length && !axis.special[p.at])
      : queries(s, at).names.map((_, q) => ({
          at: q,
          box: [],
          worth: grid.values[Math.floor(q / grid.down) * grid.columns + Math.floor(patch / grid.across)] ?? 0,
        }));
  return {
    patches: out.filter((p) => p.box.length),
    words: lookers,
    signed: false,
    axis,
  };
}

/** Places that look but are no patches: words of a text beside the picture. */
function words(s: Scene): number[] {
  if (relevanceOf(s) >= 0) return [];
  const at = site(s);
  if (!at || at.rows === 1) return [];
  const q = queries(s, at);
  return q.names.map((_, i) => i).filter((i) => !q.boxes[i]?.length);
}

function laidWords(s: Scene): { at: number; text: string; x: number; line: number; w: number }[] {
  const at = site(s);
  if (!at) return [];
  const q = queries(s, at);
  let [x, line] = [0, 0];
  return words(s).map((i) => {
    const text = shown(q.names[i]);
    const w = Math.min(150, 12 + Array.from(text).reduce((sum, c) => sum + (c > "\u1100" ? 13 : 7.5), 0));
    if (x + w > s.width - 16) {
      x = 0;
      line++;
    }
    const spot = { at: i, text, x, line, w };
    x += w + 5;
    return spot;
  });
}

const wordLines = (s: Scene): number => (laidWords(s).at(-1)?.line ?? -1) + 1;

function place(s: Scene): { x: number; y: number; w: number; h: number; scale: number; twice: boolean } {
  const p = s.example.picture!;
  const twice = s.width > 560;
  const w = Math.min(twice ? (s.width - 32) / 2 : s.width - 16, 400, (380 * p.width) / p.height);
  return {
    twice,
    x: 8,
    y: 8,
    w,
    h: (w * p.height) / p.width,
    scale: (w / p.width) * p.scale,
  };
}

function pixels(s: Scene): Raster | null {
  const p = s.example.picture!;
  const bytes = s.data.chunk(`${s.e}/picture`);
  if (!bytes) return null;
  return s.data.once(`picture:${s.e}`, () => {
    const cells = new Uint8Array(p.height * p.width * 3);
    for (let i = 0; i < p.height * p.width; i++)
      for (let k = 0; k < 3; k++) cells[3 * i + k] = bytes[p.channels === 3 ? 3 * i + k : i]!;
    return { rows: p.height, columns: p.width, cells, colours: null };
  });
}
