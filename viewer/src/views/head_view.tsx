import { allHeads, Controls, places, selection } from "../attention.tsx";
import { firstFocus, focus } from "../head/focus.ts";
import { chosen, LINE, on, sought, strongest, TOP } from "../head/lines.ts";
import { lying, window_ } from "../head/lying.ts";
import { standing } from "../head/standing.ts";
import { luminance, rgb, series } from "../palette.ts";
import { Button, Range, Toggle } from "../parts.tsx";
import { type Context, headName, keys, number, queries, shown, site, type Table, type View } from "../view.ts";

const view: View = {
  name: "head_view",
  title: "view_head_view",
  order: 1,
  attention: () => true,
  needs: (_, example) => (example.sites.length ? null : "no_attention"),
  height(s) {
    const at = site(s)!;
    if (!s.values.upright) return 250;
    const { rows, columns } = places(s, at);
    return TOP + Math.max(rows.length, columns.length, 4) * LINE + 8;
  },
  draw(m, s) {
    const at = site(s)!;
    const { rows, columns } = places(s, at);
    return s.values.upright ? standing(m, s, at, rows, columns) : lying(m, s, at, rows, columns);
  },
  subject(s) {
    const { site: place, off, hover, locked, upright } = s.values;
    return JSON.stringify([s.e, place, off, hover ?? locked, upright]);
  },
  declared(s) {
    const at = site(s);
    if (!at) return "";
    const heads = on(s, at);
    const which =
      heads.length === at.heads
        ? at.heads === 1
          ? s.t("only_head")
          : s.t("all_n_heads", { n: at.heads })
        : `${s.t("heads")} ${heads.join(", ") || s.t("none")}`;
    const found = chosen(s, at);
    const lines = found.total
      ? s.t("lines_drawn", {
          n: found.links.length,
          m: found.total,
          w: number(found.least),
        })
      : "";
    const { threshold } = s.values;
    const { rows, columns } = places(s, at);
    const pointed = focus(s, rows, columns);
    const [q, k] = [queries(s, at), keys(s, at)];
    const name = pointed && shown(pointed.query === undefined ? k.names[pointed.key!] : q.names[pointed.query]);
    const about = name === null || rows.length < 2 ? "" : s.t("focus_on", { x: name });
    const least = threshold > 0 ? s.t("weights_hidden", { w: number(threshold) }) : "";
    const coarse = heads.filter((h) => !at.full.includes(h));
    const kept = coarse.length
      ? s.t("heads_pooled", {
          h: coarse.slice(0, 6).join(", ") + (coarse.length > 6 ? ", …" : ""),
        })
      : "";
    const base = selection({ ...s, values: { ...s.values, pool: "one", layers: "one", head: 0 } }).split("; ");
    base[1] = which;
    return [...base, about, s.t("opacity", { w: number(found.top) }), least, lines, kept].filter(Boolean).join("; ");
  },
  say(target, s) {
    const at = site(s);
    if (!at) return "";
    const [q, k] = [queries(s, at), keys(s, at)];
    const heads = on(s, at);
    const row = target.query;
    const list = strongest(s, at, heads, target)
      .filter((x) => x.weight > 0)
      .slice(0, 5);
    const words = list
      .map((x) => `${shown((row === undefined ? q : k).names[x.place])} ${number(x.weight)}`)
      .join(", ");
    const what = row === undefined ? s.t("most_attended_by") : s.t("attends_most_to");
    const name = row === undefined ? shown(k.names[target.key ?? 0]) : shown(q.names[row]);
    const over = heads.length > 1 ? s.t("mean_of_heads", { n: heads.length }) : heads.map((h) => headName(at, h))[0];
    return `${name} ${what}: ${words} (${over ?? s.t("none")})`;
  },
  table(s): Table | null {
    const at = site(s);
    if (!at) return null;
    const [q, k] = [queries(s, at), keys(s, at)];
    const { links } = sought({ ...s, scroll: 0, room: 1e9 }, at);
    const sorted = [...links].sort((a, b) => b.weight - a.weight || a.query - b.query || a.key - b.key).slice(0, 60);
    return {
      caption: s.t("heaviest_lines", { n: sorted.length }),
      columns: [s.t("head"), s.t("query"), s.t("key"), s.t("weight")],
      rows: sorted.map((l) => [
        headName(at, l.head),
        shown(q.names[l.query]),
        shown(k.names[l.key]),
        Number(l.weight.toFixed(6)),
      ]),
    };
  },
  controls: (c) => (
    <>
      <Controls c={c} heads={false} pooling={false} />
      <Threshold c={c} />
      <Squares c={c} />
      {c.state.locked.value && (
        <Button
          click={() => {
            c.state.locked.value = null;
          }}
        >
          {c.t("focus_free")}
        </Button>
      )}
      <Toggle
        label={c.t("upright")}
        value={c.state.upright.value}
        pick={(v) => {
          c.state.upright.value = v;
        }}
      />
    </>
  ),
  top(target, s) {
    const at = site(s)!;
    if (!s.values.upright) return null;
    const { rows, columns } = places(s, at);
    const i = target.query === undefined ? columns.indexOf(target.key ?? -1) : rows.indexOf(target.query);
    return TOP + i * LINE;
  },
  start(s) {
    const at = site(s);
    return { threshold: -1, locked: at ? firstFocus(s, at, places(s, at).rows) : null };
  },
  key(key, c) {
    const at = site(c)!;
    const { rows, columns } = places(c, at);
    const old = c.state.hover.value;
    const side = old?.key !== undefined && old.query === undefined ? "key" : "query";
    const list = side === "key" ? columns : rows;
    const now = side === "key" ? old?.key : old?.query;
    const [back, on] = c.state.upright.value ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
    const [there, other] = c.state.upright.value ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    if (key === back || key === on) {
      const i =
        now === undefined ? 0 : Math.min(list.length - 1, Math.max(0, list.indexOf(now) + (key === on ? 1 : -1)));
      c.state.hover.value = side === "key" ? { key: list[i]! } : { query: list[i]! };
      follow(c, i, rows, columns);
    } else if (key === there || key === other) {
      const place = Math.min(now ?? 0, (key === there ? at.rows : at.columns) - 1);
      c.state.hover.value =
        key === there
          ? { query: rows.includes(place) ? place : rows[0]! }
          : { key: columns.includes(place) ? place : columns[0]! };
    } else if (key === "Enter" || key === " ") c.state.locked.value = c.state.hover.value;
    else if (/^[0-9]$/.test(key)) toggle(c, Number(key));
    else return false;
    return true;
  },
  pan(dx, _dy, c) {
    if (c.state.upright.value) return;
    const { rows, columns } = places(c, site(c)!);
    const { step } = window_(c, rows, columns);
    const most = Math.max(1, rows.length, columns.length);
    shift(c, c.state.zoom.value.x - dx / step / most);
  },
};
export default view;

/** From which weight on lines are drawn: chosen for the picture until the user sets it. */
function Threshold(props: { c: Context }) {
  const { c } = props;
  const { threshold } = c.state;
  const automatic = threshold.value < 0;
  const at = site(c)!;
  const now = automatic ? chosen(c, at).least : threshold.value;
  return (
    <>
      <Range
        label={c.t(automatic ? "weights_auto" : "weights_from", { w: now.toFixed(2) })}
        value={now}
        low={0}
        high={0.5}
        step={0.01}
        pick={(v) => {
          threshold.value = v;
        }}
      />
      {!automatic && (
        <Button
          click={() => {
            threshold.value = -1;
          }}
        >
          {c.t("automatic")}
        </Button>
      )}
    </>
  );
}

const shift = (c: Context, x: number): void => {
  c.state.zoom.value = { ...c.state.zoom.value, x: Math.max(0, Math.min(1, x)) };
};

/** Keeps what the keyboard points at in the window of a picture that lies. */
function follow(c: Context, i: number, rows: readonly number[], columns: readonly number[]): void {
  if (c.state.upright.value) return;
  const { first, room } = window_(c, rows, columns);
  const most = Math.max(1, rows.length, columns.length);
  if (i < first) shift(c, i / most);
  else if (i >= first + room) shift(c, (i - room + 1) / most);
}

function toggle(c: Context, h: number): void {
  const off = c.state.off.value;
  c.state.off.value = off.includes(h) ? off.filter((x) => x !== h) : [...off, h];
}

/** One coloured square per head; Shift shows only that one. */
function Squares(props: { c: Context }) {
  const { c } = props;
  const at = site(c)!;
  if (at.heads < 2) return null;
  const heads = allHeads(at);
  return (
    <span class="squares" role="group" aria-label={c.t("pick_heads_hint")}>
      {heads.map((h) => {
        const colour = series(h, at.heads, c.theme.dark);
        const lit = luminance(colour) > 0.179; // where black and white are equally readable
        return (
          <button
            key={h}
            type="button"
            aria-pressed={!c.state.off.value.includes(h)}
            aria-label={headName(at, h)}
            title={headName(at, h)}
            style={{ background: rgb(colour), borderColor: rgb(colour), color: lit ? "#000" : "#fff" }}
            onClick={() => toggle(c, h)}
            onDblClick={() => {
              c.state.off.value = heads.filter((x) => x !== h);
            }}
          >
            {h}
          </button>
        );
      })}
      <button
        type="button"
        class="all"
        title={c.t("all_heads")}
        onClick={() => {
          c.state.off.value = c.state.off.value.length ? [] : heads;
        }}
      >
        {c.state.off.value.length ? "∀" : "∅"}
      </button>
    </span>
  );
}
