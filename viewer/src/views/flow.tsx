import { ALONE, chain, type Flow, flow, LONG, OTHERS, rowCount, start } from "../flow/rollout.ts";
import { fitted } from "../marks/marks.ts";
import { rgb } from "../palette.ts";
import { Choice, Range } from "../parts.tsx";
import type { AxisEntry } from "../records.generated.ts";
import type { Target } from "../state.ts";
import { keys, number, queries, type Scene, shown, type Table, type View } from "../view.ts";
import { wordFor } from "../words.ts";

const TOP = 34;
/** Room for what the two colours mean. */
const BELOW = 36;

const view: View = {
  name: "flow",
  title: "view_flow",
  order: 4,
  attention: () => true,
  needs(_, example) {
    const axis = example.sites[0]?.keys;
    const ok = example.sites.some(
      (x) => x.keys === axis && x.queries === axis && x.rows === x.columns && x.kind !== "pooling",
    );
    if (!ok) return "no_chain";
    return example.sites.some((x) => x.storage === "tiles" || x.full.length < x.heads) ? "too_long" : null;
  },
  height(s) {
    const rows = rowCount(names(s).names.length);
    return TOP + Math.min(24, Math.max(4, 540 / rows)) * rows + BELOW;
  },
  draw(m, s) {
    const { theme } = s;
    const axis = names(s);
    const n = rowCount(axis.names.length);
    const step = (view.height(s) - TOP - BELOW) / n;
    const found = flow(s);
    const { layers, last } = chain(s);
    const columns = layers.length + 1 + (last >= 0 ? 1 : 0);
    const side = Math.min(130, Math.max(104, s.width * 0.22));
    const x = (l: number): number => side + ((s.width - side - (last >= 0 ? side : 46)) * l) / Math.max(1, columns - 1);
    const y = (i: number): number => TOP + (i + 0.5) * step - s.scroll;
    m.text(side, 14, s.t("inputs"), { align: "middle", fill: theme.soft, size: 11 });
    for (let l = 1; l <= layers.length; l++)
      m.text(x(l), 14, layerName(s, layers[l - 1]!, x(1) - x(0)), {
        align: "middle",
        fill: theme.soft,
        size: 11,
      });
    if (!found) {
      m.text(side + 10, TOP + 20, s.t("loading"), { fill: theme.soft });
      return {};
    }
    const top = Math.max(...found.shares.map((r) => r.reduce((a, b) => Math.max(a, b), 0)), 1e-9);
    const thick = (v: number): number => Math.max(1, (Math.max(step * 2, 34) * v) / top);
    const pointed = rowOf(found, s.values.hover);
    for (const e of found.edges) {
      const lit = pointed < 0 || e.from === pointed || e.to === pointed;
      const w = thick(e.weight);
      const mixed = e.from === e.to && found.rows[e.from] === OTHERS; // some of it stays, some moves among them
      const colour = mixed ? theme.line : e.from === e.to ? still(s) : rgb(theme.amount);
      const [x1, x2] = [x(e.layer) + 4, x(e.layer + 1) - 4];
      const [y1, y2] = [y(e.from), y(e.to)];
      m.band(x1, y1 - w / 2, y1 + w / 2, x2, y2 - w / 2, y2 + w / 2, { fill: colour, alpha: lit ? 0.8 : 0.15 });
    }
    found.shares.forEach((r, l) => {
      for (let i = 0; i < n; i++) {
        const v = r[i]!;
        if (v < 1e-4) continue;
        const h = Math.max(1.5, thick(v));
        m.rect(x(l) - 3, y(i) - h / 2, 6, h, { fill: pointed === i ? theme.focus : theme.ink });
      }
    });
    if (last >= 0) {
      const q = queries(s, s.example.sites[last]);
      const row = start(s).row;
      const yy = y(found.middle);
      const total = s.example.sites[last]!;
      m.text(x(columns - 1) + 4, yy + 4, fitted(m, shown(q.names[row]), side - 8), { bold: true, fill: theme.ink });
      m.text(x(columns - 1), 14, wordFor(s.t, "kind", total.kind), { align: "middle", fill: theme.soft, size: 11 });
      const r = found.shares.at(-1)!;
      for (let i = 0; i < n; i++) {
        if (r[i]! < 2e-3) continue;
        const w = thick(r[i]!);
        m.band(x(columns - 2) + 4, y(i) - w / 2, y(i) + w / 2, x(columns - 1) - 4, yy - w / 2, yy + w / 2, {
          fill: rgb(theme.amount),
          alpha: 0.5,
        });
      }
    }
    const legend = TOP + n * step + 22 - s.scroll;
    let at = 8;
    for (const [fill, what] of [
      [still(s), s.t("stays_place")],
      [rgb(theme.amount), s.t("comes_from_elsewhere")],
    ] as const) {
      m.rect(at, legend - 8, 14, 8, { fill, alpha: 0.8 });
      m.text(at + 18, legend, what, { fill: theme.soft, size: 10.5 });
      at += 30 + m.measure(what, 10.5);
    }
    const shares = found.shares[0]!;
    const size = Math.max(8, Math.min(12, step));
    const most = ranked(shares);
    const labelled = step >= 9 ? most : most.slice(0, Math.floor((n * step) / 11 / 3));
    let used: number[] = [];
    for (const i of labelled) {
      if (step < 9 && used.some((u) => Math.abs(u - y(i)) < 11)) continue;
      used = [...used, y(i)];
      const text = `${fitted(m, rowName(s, found, i), side - 52, size)} ${percent(shares[i]!)} %`;
      m.text(side - 10, y(i) + size * 0.35, text, {
        align: "end",
        size,
        bold: pointed === i,
        fill: axis.special[found.rows[i]!] || found.rows[i] === OTHERS ? theme.soft : theme.ink,
      });
    }
    return {
      hit(_x, yy) {
        const place = found.rows[Math.floor((yy + s.scroll - TOP) / step)];
        return place === undefined ? null : { unit: place };
      },
    };
  },
  declared(s) {
    const { layers, last } = chain(s);
    const from = start(s);
    const axis = last >= 0 ? queries(s, s.example.sites[last]) : names(s);
    const found = flow(s);
    const edges = found ? s.t("bands_drawn", { n: found.edges.length, m: found.total }) : "";
    const n = names(s).names.length;
    const grouped = n > LONG ? s.t("flow_grouped", { k: ALONE, n }) : "";
    return [
      s.t("flow_from", { x: shown(axis.names[from.row]), n: layers.length }),
      s.t("rollout_parts", {
        a: s.values.residual.toFixed(2),
        b: (1 - s.values.residual).toFixed(2),
      }),
      s.values.pool === "max" ? s.t("max_heads_renormalised") : s.t("mean_heads"),
      grouped,
      edges,
    ]
      .filter(Boolean)
      .join("; ");
  },
  say(target, s) {
    const found = flow(s);
    if (!found || target.unit === undefined) return "";
    const row = rowOf(found, target);
    if (row < 0) return "";
    const levels = found.shares.map(
      (r, l) => `${l ? s.t("after_layer", { n: l - 1 }) : s.t("input")} ${number(r[row] ?? 0)}`,
    );
    return `${rowName(s, found, row)}: ${levels.join(", ")}`;
  },
  table(s): Table | null {
    const found = flow(s);
    if (!found) return null;
    const axis = names(s);
    const shares = found.levels[0]!;
    return {
      caption: s.t("input_shares", { what: view.declared(s) }),
      columns: [s.t("input"), s.t("at"), s.t("share")],
      rows: ranked(shares)
        .slice(0, 100)
        .map((i) => [shown(axis.names[i]), i, Number(shares[i]!.toFixed(6))]),
    };
  },
  controls(c) {
    const { last } = chain(c);
    const axis = last >= 0 ? queries(c, c.example.sites[last]) : names(c);
    return (
      <>
        {axis.names.length > 1 && (
          <Choice
            label={c.t("pick_from")}
            value={start(c).row}
            options={axis.names.map((name, i) => [i, `${i} ${shown(name)}`])}
            pick={(i) => {
              c.state.from.value = i;
            }}
          />
        )}
        <Range
          label={c.t("residual_n", { n: c.state.residual.value.toFixed(2) })}
          value={c.state.residual.value}
          low={0}
          high={0.9}
          step={0.05}
          pick={(v) => {
            c.state.residual.value = v;
          }}
        />
        <Choice
          label={c.t("pick_heads")}
          value={c.state.pool.value === "max" ? "max" : "mean"}
          options={[
            ["mean", c.t("mean")],
            ["max", c.t("max")],
          ]}
          pick={(v) => {
            c.state.pool.value = v as "mean" | "max";
          }}
        />
      </>
    );
  },
  click(target, c) {
    if (chain(c).last < 0 && target.unit !== undefined && target.unit !== OTHERS) c.state.from.value = target.unit;
    else c.state.locked.value = target;
  },
  top(target, s) {
    const found = flow(s);
    const n = rowCount(names(s).names.length);
    return TOP + Math.max(0, found ? rowOf(found, target) : 0) * ((view.height(s) - TOP - BELOW) / n);
  },
  key(key, c) {
    const found = flow(c);
    if (!found) return false;
    const old = c.state.hover.value?.unit;
    const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    if (key === "Enter" && old !== undefined) view.click?.({ unit: old }, c);
    else if (step) {
      const row = rowOf(found, c.state.hover.value);
      const next = row < 0 ? 0 : Math.min(found.rows.length - 1, Math.max(0, row + step));
      c.state.hover.value = { unit: found.rows[next]! };
    } else return false;
    return true;
  },
};
export default view;

const percent = (share: number): string => (100 * share).toFixed(share < 0.0995 ? 1 : 0);

/** The colour of what does not move. */
const still = (s: Scene): string => (s.theme.dark ? "#7a7f89" : "#9aa0aa");

/** The row that a target stands in, -1 where there is none. */
const rowOf = (found: Flow, target: Target | null): number =>
  target?.unit === undefined ? -1 : found.rows.indexOf(target.unit);

function rowName(s: Scene, found: Flow, row: number): string {
  const place = found.rows[row]!;
  const all = names(s).names;
  return place === OTHERS ? s.t("flow_others", { n: all.length - found.rows.length + 1 }) : shown(all[place]);
}

const names = (s: Scene): AxisEntry => keys(s, s.example.sites[chain(s).layers[0] ?? 0]);

const ranked = (v: Float32Array): number[] => Array.from(v.keys()).sort((a, b) => v[b]! - v[a]! || a - b);

const layerName = (s: Scene, i: number, room: number): string =>
  s.t(room > 96 ? "after_layer" : "layer_short", { n: s.example.sites[i]!.layer });
