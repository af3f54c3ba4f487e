import { Controls, names, picked, Sinks, selection, stepRow } from "../attention.tsx";
import { amountLegend } from "../legend.ts";
import type { Marks } from "../marks/marks.ts";
import { rgb } from "../palette.ts";
import { Choice } from "../parts.tsx";
import type { SiteEntry } from "../records.generated.ts";
import { hiddenSinks } from "../sinks.ts";
import { keys, number, type Scene, shown, type Table, type View } from "../view.ts";

const LINE = 28;
const FONT = 16;

interface Spot {
  text: string;
  x: number;
  y: number;
  w: number;
  /** Its column in the map, -1 where it is none: the last token was never looked at. */
  key: number;
  /** The writing step that made it, -1 where it was given. */
  step: number;
}

/** Sites whose rows are writing steps. */
const usable = (x: SiteEntry, made: number): boolean =>
  x.kind === "cross" ? x.rows >= made : x.kind === "causal" && x.rows >= made;

/** The scene with a site of which this view can be drawn: the picked one, else the last. */
function own(s: Scene): Scene {
  const made = s.example.made?.length ?? 0;
  const { sites } = s.example;
  const now = sites[s.values.site];
  const site =
    now && usable(now, made) ? s.values.site : sites.reduce((last, x, i) => (usable(x, made) ? i : last), -1);
  return { ...s, values: { ...s.values, site, step: -1, hideSpecial: false, pair: "all" } };
}

const step = (s: Scene): number => Math.max(0, Math.min(s.values.written, (s.example.made?.length ?? 1) - 1));

/** The row of the map in which the picked token was chosen; null while it is on its way. */
function row(s: Scene): Float32Array | null {
  const { at, grid } = picked(own(s));
  if (!grid) return null;
  const r = Math.floor(stepRow(s, at, step(s)) / grid.down);
  const cells = grid.values.subarray(r * grid.columns, (r + 1) * grid.columns);
  return grid.across === 1
    ? cells
    : Float32Array.from({ length: at.columns }, (_, k) => cells[Math.floor(k / grid.across)]!);
}

const view: View = {
  name: "written",
  title: "view_written",
  order: 0,
  attention: () => true,
  needs(_, example) {
    const made = example.made?.length ?? 0;
    return made && example.sites.some((x) => usable(x, made)) ? null : "no_written";
  },
  height: (s) => laid(null, s).height + 50,
  draw(m, s) {
    const { theme } = s;
    const { at } = picked(own(s));
    const { spots, heads, height } = laid(m, s);
    const weights = row(s);
    const hidden = hiddenSinks(s, at);
    const top = weights ? weights.reduce((a, w, k) => (hidden.includes(k) ? a : Math.max(a, w)), 0) : 0;
    const pointed = s.values.hover ?? s.values.locked;
    for (const head of heads) m.text(4, head.y - s.scroll, head.text, { size: 11, fill: theme.soft });
    for (const spot of spots) {
      const y = spot.y - s.scroll;
      if (y < -LINE || y > (s.room || 1e6) + LINE) continue;
      const out = hidden.includes(spot.key);
      const weight = spot.key >= 0 && !out ? (weights?.[spot.key] ?? 0) : 0;
      const box = [spot.x - 3, y - 16, spot.w + 6, LINE - 4] as const;
      if (weight > 0) m.rect(...box, { fill: rgb(theme.amount), alpha: 0.72 * Math.min(1, weight / (top || 1)) });
      if (out) m.line(spot.x, y + 4, spot.x + spot.w, y + 4, { stroke: theme.soft, width: 1.5, dash: [2, 3] });
      if (spot.step === step(s)) m.rect(...box, { stroke: theme.focus, width: 2 });
      else if (pointed?.key !== undefined && pointed.key === spot.key) m.rect(...box, { stroke: theme.ink, width: 1 });
      const later = spot.step > step(s);
      m.text(spot.x, y, spot.text, {
        size: FONT,
        bold: spot.step === step(s),
        fill: later || out ? theme.soft : theme.ink,
      });
    }
    if (!weights) m.text(4, height - s.scroll, s.t("loading"), { fill: theme.soft });
    amountLegend(m, theme, 4, height + 8 - s.scroll, top, s.t("weight"), s.width);
    return {
      hit(x, y) {
        const found = spots.find(
          (o) => x >= o.x - 3 && x <= o.x + o.w + 3 && y + s.scroll >= o.y - 17 && y + s.scroll <= o.y + 8,
        );
        return found ? { key: found.key, row: found.step } : null;
      },
    };
  },
  declared(s) {
    const mine = own(s);
    const { at } = picked(mine);
    const made = s.example.made ?? [];
    const hidden = hiddenSinks(s, at);
    const weights = row(s);
    const taken = weights && hidden.length ? hidden.reduce((sum, k) => sum + weights[k]!, 0) : 0;
    return [
      s.t("written_from", { x: shown(made[step(s)]), n: step(s) + 1, m: made.length }),
      selection(mine),
      taken ? s.t("sinks_share", { p: (100 * taken).toFixed(0) }) : "",
    ]
      .filter(Boolean)
      .join("; ");
  },
  say(target, s) {
    const weights = row(s);
    const { at } = picked(own(s));
    if (!weights || target.key === undefined || target.key < 0) return "";
    return `${names(s, at, [target.key])} (${target.key}): ${number(weights[target.key] ?? 0)} ± ${number(at.error)}`;
  },
  table(s): Table | null {
    const weights = row(s);
    const { at } = picked(own(s));
    if (!weights) return null;
    const hidden = hiddenSinks(s, at);
    const order = Array.from(weights.keys()).filter((k) => !hidden.includes(k) && weights[k]! > 0);
    order.sort((a, b) => weights[b]! - weights[a]! || a - b);
    return {
      caption: view.declared(s),
      columns: [s.t("key"), s.t("at"), s.t("weight")],
      rows: order.slice(0, 100).map((k) => [names(s, at, [k]), k, Number(weights[k]!.toFixed(6))]),
    };
  },
  controls(c) {
    const made = c.example.made ?? [];
    const mine = own(c);
    return (
      <>
        <Choice
          label={c.t("written_pick")}
          value={step(c)}
          options={made.map((token, i) => [i, `${i + 1} ${shown(token)}`])}
          pick={(i) => {
            c.state.written.value = i;
          }}
        />
        <Controls c={c} filters={false} />
        <Sinks c={c} at={picked(mine).at} />
      </>
    );
  },
  click(target, c) {
    if (target.row !== undefined && target.row >= 0) c.state.written.value = target.row;
    else c.state.locked.value = target;
  },
  top: (target, s) => laid(null, s).spots.find((o) => o.key === target.key)?.y ?? null,
  key(key, c) {
    const made = c.example.made?.length ?? 1;
    const { at } = picked(own(c));
    const turn = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
    const walk = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    const old = c.state.hover.value?.key;
    if (turn) c.state.written.value = Math.max(0, Math.min(made - 1, step(c) + turn));
    else if (walk)
      c.state.hover.value = { key: old === undefined ? 0 : Math.max(0, Math.min(at.columns - 1, old + walk)) };
    else return false;
    return true;
  },
  start: () => ({ layers: "mean" }),
};
export default view;

/** The given text and what was written, word after word; widths without a canvas are guessed, never too small. */
function laid(m: Marks | null, s: Scene): { spots: Spot[]; heads: { text: string; y: number }[]; height: number } {
  const measure = m
    ? (text: string) => m.measure(text, FONT, true)
    : (text: string) => Array.from(text).reduce((sum, c) => sum + (c > "\u1100" ? 1 : 0.66) * FONT, 0);
  const { at } = picked(own(s));
  const made = s.example.made ?? [];
  const axis = keys(s, at);
  const begin = at.kind === "cross" ? axis.names.length : at.columns - made.length + 1;
  const given = axis.names.slice(0, begin).map((text, key) => ({ text, key, step: -1 }));
  const written = made.map((text, i) => ({ text, key: i + 1 < made.length ? begin + i : -1, step: i }));
  const spots: Spot[] = [];
  const heads: { text: string; y: number }[] = [];
  let y = 14;
  for (const [title, tokens] of [
    [s.t("written_given"), given],
    [s.t("written_after"), at.kind === "cross" ? written.map((w) => ({ ...w, key: -1 })) : written],
  ] as const) {
    heads.push({ text: title, y });
    y += LINE;
    let x = 7;
    for (const token of tokens) {
      const text = shown(token.text);
      const w = measure(text);
      if (x > 7 && x + w > s.width - 8) {
        x = 7;
        y += LINE;
      }
      spots.push({ ...token, text, x, y, w });
      x += w + 9;
    }
    y += LINE + 8;
  }
  return { spots, heads, height: y - 8 };
}
