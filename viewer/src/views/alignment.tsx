import { allHeads } from "../attention.tsx";
import { amountLegend, LEGEND } from "../legend.ts";
import { amountRaster } from "../map.ts";
import { namedMap } from "../named_map.ts";
import { Choice } from "../parts.tsx";
import type { ExampleEntry } from "../records.generated.ts";
import { headName, keys, number, queries, type Scene, shown, siteName, type Table, type View } from "../view.ts";

const crossing = (example: ExampleEntry): number[] =>
  example.sites.map((_, i) => i).filter((i) => example.sites[i]!.kind === "cross" && example.sites[i]!.rows > 1);

/** The site that is shown: the one picked, if it crosses, else the last that does. */
const which = (s: Scene): number =>
  crossing(s.example).includes(s.values.site) ? s.values.site : crossing(s.example).at(-1)!;

const view: View = {
  name: "alignment",
  title: "view_alignment",
  order: 6,
  attention: () => true,
  needs: (_, example) => (crossing(example).length ? null : "no_cross"),
  height: (s) => frame(s).y + frame(s).h + LEGEND + 8,
  draw(m, s) {
    const at = s.example.sites[which(s)]!;
    const f = frame(s);
    const { theme } = s;
    m.text(f.x, 12, `${s.t("source")} →`, { fill: theme.soft, size: 11 });
    m.text(8, f.y - 6, `${s.t("target")} ↓`, { fill: theme.soft, size: 11 });
    const grid = weights(s);
    if (!grid) {
      m.text(f.x + 8, f.y + 20, s.t("loading"), { fill: theme.soft });
      return {};
    }
    namedMap(m, s, at, amountRaster(grid, theme), f.x, f.y, f.w, f.h);
    const [dx, dy] = [f.w / at.columns, f.h / at.rows];
    strongest(s).forEach((k, q) => {
      m.rect(f.x + k * dx + 1, f.y + q * dy + 1, dx - 2, dy - 2, { stroke: theme.focus, width: 2 });
    });
    for (const [source, target] of s.example.alignment ?? [])
      m.line(
        f.x + source! * dx + 3,
        f.y + target! * dy + dy - 3,
        f.x + (source! + 1) * dx - 3,
        f.y + target! * dy + 3,
        { stroke: theme.ink, width: 1.5 },
      );
    const p = s.values.hover;
    if (p?.query !== undefined && p.key !== undefined)
      m.rect(f.x + p.key * dx, f.y + p.query * dy, dx, dy, { stroke: theme.ink, width: 2 });
    amountLegend(m, theme, f.x, f.y + f.h + 8, grid.top, s.t("weight_root"), s.width);
    return {
      hit(x, y) {
        const [key, query] = [Math.floor((x - f.x) / dx), Math.floor((y - f.y) / dy)];
        return key >= 0 && query >= 0 && key < at.columns && query < at.rows ? { query, key } : null;
      },
    };
  },
  declared(s) {
    const at = s.example.sites[which(s)]!;
    const gold = s.example.alignment ? `; ${s.t("strokes_right")}; ${agreement(s)}` : "";
    const heads =
      s.values.pool === "one"
        ? headName(at, Math.min(s.values.head, at.heads - 1))
        : s.t(s.values.pool === "max" ? "max_over_heads" : "mean_over_heads", { n: at.heads });
    return `${siteName(at, s.t)}; ${heads}; ${s.t("framed_sources")}${gold}`;
  },
  say(target, s) {
    const at = s.example.sites[which(s)]!;
    const grid = weights(s);
    if (!grid || target.query === undefined || target.key === undefined) return "";
    const value = grid.values[target.query * grid.columns + target.key] ?? 0;
    return `${shown(queries(s, at).names[target.query])} ← ${shown(keys(s, at).names[target.key])}: ${number(value)} ± ${number(at.error)}`;
  },
  table(s): Table | null {
    const at = s.example.sites[which(s)]!;
    const grid = weights(s);
    if (!grid) return null;
    return {
      caption: s.t("best_source_caption"),
      columns: [s.t("target"), s.t("source"), s.t("weight")],
      rows: strongest(s).map((k, q) => [
        shown(queries(s, at).names[q]),
        shown(keys(s, at).names[k]),
        Number((grid.values[q * grid.columns + k] ?? 0).toFixed(6)),
      ]),
    };
  },
  controls(c) {
    const at = c.example.sites[which(c)]!;
    return (
      <>
        <Choice
          label={c.t("pick_layer")}
          value={which(c)}
          options={crossing(c.example).map((i) => [i, String(c.example.sites[i]!.layer)])}
          pick={(i) => {
            c.state.site.value = i;
          }}
        />
        {at.heads > 1 && (
          <Choice
            label={c.t("pick_heads")}
            value={c.state.pool.value === "one" ? c.state.head.value : c.state.pool.value}
            options={[
              ["mean", c.t("mean")],
              ["max", c.t("max")],
              ...allHeads(at).map((h): [number, string] => [h, headName(at, h)]),
            ]}
            pick={(v) => {
              if (typeof v === "number") {
                c.state.pool.value = "one";
                c.state.head.value = v;
              } else c.state.pool.value = v as "mean" | "max";
            }}
          />
        )}
      </>
    );
  },
  key(key, c) {
    const at = c.example.sites[which(c)]!;
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[key];
    if (!step) return false;
    const old = c.state.hover.value;
    const clamp = (v: number, n: number): number => Math.min(n - 1, Math.max(0, v));
    c.state.hover.value =
      old?.query === undefined
        ? { query: 0, key: 0 }
        : { query: clamp(old.query + step[0]!, at.rows), key: clamp((old.key ?? 0) + step[1]!, at.columns) };
    return true;
  },
};
export default view;

function weights(s: Scene) {
  const at = s.example.sites[which(s)]!;
  const heads = s.values.pool === "one" ? [Math.min(s.values.head, at.heads - 1)] : allHeads(at);
  return s.data.pooled(s.e, which(s), heads, s.values.pool);
}

function strongest(s: Scene): number[] {
  const grid = weights(s);
  if (!grid) return [];
  return Array.from({ length: grid.rows }, (_, q) => {
    let best = 0;
    for (let k = 1; k < grid.columns; k++)
      if (grid.values[q * grid.columns + k]! > grid.values[q * grid.columns + best]! + 1e-6) best = k;
    return best;
  });
}

/** How many of the target tokens with a known source look at it most. */
function agreement(s: Scene): string {
  const gold = s.example.alignment ?? [];
  const found = strongest(s);
  const known = new Set(gold.map((l) => l[1]!));
  let right = 0;
  for (const target of known) if (gold.some((l) => l[1] === target && l[0] === found[target])) right++;
  return s.t("right_sources", { a: right, b: known.size });
}

function frame(s: Scene): { x: number; y: number; w: number; h: number } {
  const at = s.example.sites[which(s)]!;
  const x = Math.min(100, s.width * 0.22);
  const cell = Math.max(4, Math.min(24, (s.width - x - 30) / at.columns, 520 / at.rows));
  return { x, y: 70, w: cell * at.columns, h: cell * at.rows };
}
