import { Controls, selection } from "../attention.tsx";
import {
  asked,
  back,
  boxed,
  heading,
  keyToQuery,
  lookers,
  mapOf,
  mapped,
  pickedWord,
  relevanceOf,
  type Worth,
  words,
  worths,
} from "../image/worths.ts";
import { LEGEND, OVER, overLegend } from "../legend.ts";
import { fitted, type Raster } from "../marks/marks.ts";
import { rgb } from "../palette.ts";
import { Choice } from "../parts.tsx";
import type { AxisEntry } from "../records.generated.ts";
import { largest } from "../units.ts";
import { keys, number, queries, type Scene, shown, site, type Table, type View } from "../view.ts";

const LINE = 24;

const view: View = {
  name: "image_overlay",
  title: "view_image_overlay",
  order: 5,
  attention: (s) => mapOf(s) < 0,
  needs(_, example) {
    if (!example.picture) return "no_picture";
    return mapped(example) || example.maps.length || (example.units.place_kind === "box" && example.methods.length)
      ? null
      : "no_patches";
  },
  height: (s) => place(s).h + LEGEND + 20 + (words(s).length ? 34 + LINE * wordLines(s) : 0),
  draw(m, s) {
    const { theme } = s;
    const f = place(s);
    const image = pixels(s);
    const under = greyed(s, image);
    if (under) m.raster(f.x, f.y - s.scroll, f.w, f.h, under);
    m.rect(f.x - 0.5, f.y - 0.5 - s.scroll, f.w + 1, f.h + 1, { stroke: theme.line });
    if (image && f.twice) {
      m.raster(f.x + f.w + 16, f.y - s.scroll, f.w, f.h, image);
      m.text(f.x + f.w + 16, f.y + f.h + 18 - s.scroll, s.t("picture_alone"), { fill: theme.soft, size: 11 });
    }
    const found = worths(s);
    if (!found) {
      m.text(f.x + f.w + 12, f.y + 20, s.t("loading"), { fill: theme.soft });
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
    const edges = outline(s);
    if (edges) {
      const [t, l, b, r] = edges as [number, number, number, number];
      const at = [f.x + l * f.scale, f.y + t * f.scale - s.scroll, (r - l) * f.scale, (b - t) * f.scale] as const;
      m.rect(...at, { stroke: theme.paper, width: 4 });
      m.rect(...at, { stroke: theme.ink, width: 1.5 });
    }
    const low = f.y + f.h + 8 - s.scroll;
    const colours = found.signed ? [theme.plus, theme.minus] : [theme.over];
    const means = !found.signed
      ? s.t("weight_opacity")
      : mapOf(s) >= 0
        ? `${s.t("lowers_similarity")} ↔ ${s.t("raises_similarity")}`
        : `${s.t("against_answer")} ↔ ${s.t("for_answer")}`;
    overLegend(m, theme, f.x, low, top, colours, means, f.twice ? f.x + f.w : s.width);
    const spots = laidWords(s);
    if (spots.length)
      m.text(f.x, low + LEGEND + 6, fitted(m, s.t(heading(s)), s.width - 12, 11), {
        fill: theme.soft,
        size: 11,
      });
    const most = largest(found.words.map((w) => w.worth));
    for (const spot of spots) {
      const [x, y] = [f.x + spot.x, low + LEGEND + 14 + spot.line * LINE];
      const worth = found.words.find((w) => w.at === spot.at)?.worth ?? 0;
      const tint = !found.signed ? theme.amount : worth >= 0 ? theme.plus : theme.minus;
      if (worth)
        m.rect(x, y, spot.w, LINE - 4, { fill: rgb(tint), alpha: 0.75 * Math.min(1, Math.abs(worth) / (most || 1)) });
      const asked = pickedWord(s) === spot.at;
      const lit = s.values.hover?.part === "word" && s.values.hover.query === spot.at;
      m.rect(x, y, spot.w, LINE - 4, { stroke: asked || lit ? theme.focus : theme.line, width: asked || lit ? 2 : 1 });
      m.text(x + 5, y + 14, fitted(m, spot.text, spot.w - 8), { fill: theme.ink, bold: asked });
    }
    return {
      hit(x, y) {
        for (const spot of spots) {
          const [left, up] = [f.x + spot.x, low + LEGEND + 14 + spot.line * LINE];
          if (x >= left && x <= left + spot.w && y >= up && y <= up + LINE - 4) return { query: spot.at, part: "word" };
        }
        const [px, py] = [(x - f.x) / f.scale, (y + s.scroll - f.y) / f.scale];
        const hit = found.patches.find((p) => py >= p.box[0]! && px >= p.box[1]! && py < p.box[2]! && px < p.box[3]!);
        return hit ? { key: hit.at, part: "patch" } : null;
      },
    };
  },
  declared(s) {
    const pairs = s.example.maps[mapOf(s)];
    if (pairs) {
      const patch = back(s);
      const from =
        patch >= 0
          ? s.t("word_with", {
              x: shown(s.example.axes[pairs.columns]!.names[patch]),
              y: shown(s.example.axes[pairs.rows]!.names[0]),
            })
          : pickedWord(s) === 0
            ? s.t("patch_loss")
            : s.t("patch_with", { x: shown(s.example.axes[pairs.rows]!.names[pickedWord(s)]) });
      return `${pairs.name}: ${from}. ${pairs.note}`;
    }
    const method = relevanceOf(s);
    if (method >= 0)
      return `${s.t("relevance_by", { m: s.example.methods[method]!.name })}; ${s.t("patches_on_picture")}`;
    const at = site(s)!;
    const row = asked(s);
    const patch = back(s);
    const from =
      patch >= 0
        ? s.t("attended_by", {
            x: shown(keys(s, at).names[patch]),
            n: at.rows,
          })
        : row < 0
          ? s.t("mean_over_queries", { n: at.rows })
          : s.t("seen_from", { x: shown(queries(s, at).names[row]) });
    const plain = { ...s.values, hideSpecial: false, pair: "all" as const, step: -1 };
    return `${s.t("attention")}: ${selection({ ...s, values: plain })}; ${from}`;
  },
  say(target, s) {
    const found = worths(s);
    if (!found) return "";
    if (target.part === "word") {
      if (mapOf(s) >= 0) {
        const worth = found.words.find((w) => w.at === target.query)?.worth ?? 0;
        return `${shown(lookers(s).names[target.query ?? 0])}: ${number(worth)} (${s.t(heading(s))})`;
      }
      const at = site(s)!;
      const worth = back(s) < 0 ? undefined : found.words.find((w) => w.at === target.query)?.worth;
      const said = worth === undefined ? s.t("click_for_patches") : number(worth);
      return `${shown(queries(s, at).names[target.query ?? 0])}: ${said}`;
    }
    const p = found.patches.find((x) => x.at === target.key);
    const name = found.axis.names[target.key ?? 0];
    return p ? `${shown(name)}: ${number(p.worth)}` : "";
  },
  table(s): Table | null {
    const found = worths(s);
    if (!found) return null;
    const words = back(s) < 0 && mapOf(s) < 0 ? found.axis : lookers(s);
    const named = (list: Worth[], axis: AxisEntry): [string, Worth][] => list.map((p) => [shown(axis.names[p.at]), p]);
    // where words look back at a patch, their weights are another quantity than the mean on the picture
    const rows =
      back(s) >= 0
        ? named(found.words, words)
        : [...named(found.patches, found.axis), ...(mapOf(s) < 0 ? named(found.words, words) : [])];
    rows.sort(([, a], [, b]) => Math.abs(b.worth) - Math.abs(a.worth) || a.at - b.at);
    return {
      caption: view.declared(s),
      columns: [s.t("place"), s.t("worth")],
      rows: rows.slice(0, 60).map(([name, p]) => [name, Number(p.worth.toFixed(6))]),
    };
  },
  controls(c) {
    const options: [string, string][] = c.example.maps.map((x, i) => [`map ${i}`, x.name]);
    if (mapped(c.example)) options.push(["attention", c.t("attention")]);
    if (c.example.units.place_kind === "box")
      c.example.methods.forEach((x, i) => options.push([`method ${i}`, x.name]));
    const method = relevanceOf(c);
    return (
      <>
        <Choice
          label={c.t("pick_shown")}
          value={mapOf(c) >= 0 ? `map ${mapOf(c)}` : method >= 0 ? `method ${method}` : "attention"}
          options={options}
          pick={(v) => {
            c.state.shown.value = v;
            c.state.locked.value = null;
          }}
        />
        {method < 0 && mapOf(c) < 0 && <Controls c={c} filters={false} />}
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
    const wide = found.patches.filter((p) => p.box[0] === found.patches[0]?.box[0]).length || 1;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -wide, ArrowDown: wide }[key];
    const now = c.state.hover.value;
    if (key === "Enter" && now) view.click?.(now, c);
    else if (step) {
      const said = words(c);
      const word = now?.part === "word" ? said.indexOf(now.query ?? -1) : -1;
      const i = all.indexOf(now?.key ?? -1);
      // below the last row of patches stand the words
      if (word >= 0 && key !== "ArrowUp")
        c.state.hover.value = {
          query: said[Math.min(said.length - 1, Math.max(0, word + Math.sign(step)))]!,
          part: "word",
        };
      else if (word >= 0 && all.length) c.state.hover.value = { key: all.at(-1)!, part: "patch" };
      else if (key === "ArrowDown" && i >= 0 && i + step >= all.length && said.length)
        c.state.hover.value = { query: said[0]!, part: "word" };
      else
        c.state.hover.value = { key: all[i < 0 ? 0 : Math.min(all.length - 1, Math.max(0, i + step))]!, part: "patch" };
    } else return false;
    return true;
  },
  start(s) {
    if (s.example.maps.length) return { shown: "map 0" };
    const i = s.example.sites.map((x) => boxed(s.example.axes[x.keys])).lastIndexOf(true);
    return i >= 0
      ? { site: i, shown: "attention", pool: s.example.sites[i]!.heads > 1 ? "mean" : "one" }
      : { shown: "method 0" };
  },
};
export default view;

function laidWords(s: Scene): { at: number; text: string; x: number; line: number; w: number }[] {
  const all = words(s);
  if (!all.length) return [];
  const q = lookers(s);
  let [x, line] = [0, 0];
  return all.map((i) => {
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

/** The box of the object whose query is looked from, or that the relevances are about; null where there is none. */
function outline(s: Scene): number[] | null {
  const boxes = s.example.outlines ?? [];
  const cross = s.example.sites.filter((x) => x.kind === "cross");
  const at = relevanceOf(s) < 0 ? site(s) : cross.at(-1);
  if (!boxes.length || at?.kind !== "cross" || mapOf(s) >= 0) return null;
  const box = boxes[relevanceOf(s) < 0 ? asked(s) : (at.reading[0] ?? -1)];
  return box?.length ? box : null;
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

/** The picture without its colours, so that those laid over it can be told from its own. */
function greyed(s: Scene, image: Raster | null): Raster | null {
  if (!image || s.example.picture!.channels !== 3) return image;
  return s.data.once(`grey:${s.e}`, () => {
    const cells = new Uint8Array(image.cells.length);
    for (let i = 0; i < cells.length; i += 3)
      cells.fill(0.299 * image.cells[i]! + 0.587 * image.cells[i + 1]! + 0.114 * image.cells[i + 2]!, i, i + 3);
    return { ...image, cells };
  });
}
