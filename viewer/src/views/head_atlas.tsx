import { fitted, type Marks, type Rgb, SIZE } from "../marks/marks.ts";
import { luminance, mixed, rgb, series } from "../palette.ts";
import { Choice } from "../parts.tsx";
import type { AtlasEntry, CurveEntry } from "../records.generated.ts";
import { number, type Scene, type Table, type View } from "../view.ts";

const CELL = 34;
const PLOT = 190;

const atlas = (s: Scene): AtlasEntry => s.manifest.atlas!;

const view: View = {
  name: "head_atlas",
  title: "view_head_atlas",
  order: 7,
  attention: () => true,
  needs: (manifest) => (manifest.atlas ? null : "no_survey"),
  height(s) {
    return grid(s).end + 30 + 18 * Math.ceil(roles(s).length / columns(s)) + (curves(s).length ? PLOT + 62 : 0);
  },
  draw(m, s) {
    const { theme } = s;
    const g = grid(s);
    const named = roles(s);
    const most = Math.max(...atlas(s).heads.map((h) => Math.abs(h.drop?.estimate ?? 0)), 1e-9);
    const y0 = -s.scroll;
    m.text(4, 12 + y0, s.t("layer_head"), { fill: theme.soft, size: 11 });
    for (let h = 0; h < g.heads; h++)
      m.text(g.left + (h + 0.5) * g.cell, 12 + y0, String(h), { align: "middle", size: 11, fill: theme.soft });
    g.rows.forEach((row, r) =>
      m.text(g.left - 6, 22 + (r + 0.6) * CELL + y0, fitted(m, row.name, g.left - 8, 11), {
        align: "end",
        size: 11,
        fill: theme.ink,
      }),
    );
    for (const h of atlas(s).heads) {
      const r = g.rows.findIndex((row) => row.site === h.site);
      const [x, y] = [g.left + h.number * g.cell, 20 + r * CELL + y0];
      const at = named.indexOf(h.role);
      const colour: Rgb =
        at >= 0 ? series(at, Math.max(named.length, 3), theme.dark) : theme.dark ? [60, 64, 72] : [228, 229, 233];
      const share = at >= 0 ? 0.35 + 0.65 * (h.confidence ?? 1) : 1;
      const paper: Rgb = theme.dark ? [20, 22, 26] : [255, 255, 255];
      const dark = luminance(mixed(paper, colour, share)) < 0.179;
      m.rect(x + 1, y + 1, g.cell - 2, CELL - 2, {
        fill: rgb(colour),
        alpha: share,
      });
      if (at >= 0)
        m.text(x + g.cell / 2, y + 15, letter(at), { align: "middle", bold: true, fill: dark ? "#fff" : "#000" });
      if (h.drop) {
        const w = ((g.cell - 6) * Math.abs(h.drop.estimate)) / most;
        m.rect(x + 3, y + CELL - 10, g.cell - 6, 6, { fill: theme.paper, alpha: 0.75 });
        m.rect(x + 3, y + CELL - 10, w, 6, { fill: rgb(h.drop.estimate >= 0 ? theme.plus : theme.minus) });
      }
      if (s.values.hover?.part === h.name) m.rect(x, y, g.cell, CELL, { stroke: theme.focus, width: 2.5 });
    }
    const per = columns(s);
    const wide = (s.width - 8) / per;
    named.forEach((role, i) => {
      const [x, y] = [8 + (i % per) * wide, g.end + 16 + 18 * Math.floor(i / per) + y0];
      m.rect(x, y - 10, 13, 13, { fill: rgb(series(i, Math.max(named.length, 3), theme.dark)) });
      m.text(x + 18, y, fitted(m, `${letter(i)}  ${role}`, wide - 22), { fill: theme.ink });
    });
    const lines = curves(s);
    if (lines.length) curvePlot(m, s, lines, g.end + 40 + 18 * Math.ceil(named.length / per) + y0);
    return {
      hit(x, y) {
        const [c, r] = [Math.floor((x - g.left) / g.cell), Math.floor((y + s.scroll - 20) / CELL)];
        const row = g.rows[r];
        const found = row && c >= 0 ? atlas(s).heads.find((h) => h.site === row.site && h.number === c) : undefined;
        return found ? { part: found.name } : null;
      },
    };
  },
  declared(s) {
    const a = atlas(s);
    return `${s.t("atlas_basis", { m: a.model, n: a.n, d: a.data, s: a.seed })}; ${s.t("atlas_legend")}`;
  },
  say(target, s) {
    const h = atlas(s).heads.find((x) => x.name === target.part);
    if (!h) return "";
    const role = h.role
      ? `${h.role}${h.score ? ` ${interval(h.score)}` : ""}, ${s.t("baseline")} ${h.baseline === null ? "–" : number(h.baseline)}, ${s.t("confidence")} ${number(h.confidence ?? 0)}`
      : s.t("no_role");
    const more = h.others.length ? `; ${s.t("also")}: ${h.others.join(", ")}` : "";
    return `${h.name}: ${role}${more}; ${s.t("drop")} ${h.drop ? interval(h.drop) : "–"}${h.spread ? `; ${h.spread}` : ""}`;
  },
  table(s): Table {
    return {
      caption: view.declared(s),
      columns: [s.t("head"), s.t("role"), s.t("confidence"), s.t("score"), s.t("baseline"), s.t("drop"), s.t("spread")],
      rows: atlas(s).heads.map((h) => [
        h.name,
        h.role || "–",
        h.confidence === null ? "" : number(h.confidence),
        h.score ? interval(h.score) : "",
        h.baseline === null ? "" : number(h.baseline),
        h.drop ? interval(h.drop) : "",
        h.spread,
      ]),
    };
  },
  controls(c) {
    const measures = [...new Set(atlas(c).curve.map((p) => p.measure))];
    if (measures.length < 2) return null;
    return (
      <Choice
        label={c.t("pick_curve")}
        value={measureOf(c)}
        options={measures.map((x) => [x, x])}
        pick={(v) => {
          c.state.pruning.value = v;
        }}
      />
    );
  },
  key(key, c) {
    const all = atlas(c).heads;
    const wide = grid(c).heads;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -wide, ArrowDown: wide }[key];
    if (!step) return false;
    const i = all.findIndex((h) => h.name === c.state.hover.value?.part);
    c.state.hover.value = { part: all[i < 0 ? 0 : Math.min(all.length - 1, Math.max(0, i + step))]!.name };
    return true;
  },
};
export default view;

const letter = (i: number): string => String.fromCharCode(65 + i);
const roles = (s: Scene): string[] => [...new Set(atlas(s).heads.map((h) => h.role))].filter(Boolean).sort();
const columns = (s: Scene): number => Math.max(1, Math.floor(s.width / 200));

function interval(v: { estimate: number; low: number | null; high: number | null; n: number }): string {
  const range = v.low === null || v.high === null ? "" : ` [${number(v.low)}, ${number(v.high)}]`;
  return `${number(v.estimate)}${range} (n = ${v.n})`;
}

function grid(s: Scene): {
  rows: { site: string; name: string }[];
  heads: number;
  left: number;
  cell: number;
  end: number;
} {
  const rows: { site: string; name: string }[] = [];
  let heads = 1;
  for (const h of atlas(s).heads) {
    heads = Math.max(heads, h.number + 1);
    if (!rows.some((r) => r.site === h.site)) rows.push({ site: h.site, name: String(h.layer) });
  }
  const left = 74;
  const cell = Math.max(18, Math.min(52, (s.width - left - 8) / heads));
  return { rows, heads, left, cell, end: 20 + rows.length * CELL + 8 };
}

function measureOf(s: Scene): string {
  const all = atlas(s).curve.map((p) => p.measure);
  return all.includes(s.values.pruning) ? s.values.pruning : (all[0] ?? "");
}

function curves(s: Scene): [string, CurveEntry[]][] {
  const mine = atlas(s).curve.filter((p) => p.measure === measureOf(s));
  return [...new Set(mine.map((p) => p.order))].map((o) => [
    o,
    mine.filter((p) => p.order === o).sort((a, b) => a.removed - b.removed),
  ]);
}

function curvePlot(m: Marks, s: Scene, lines: [string, CurveEntry[]][], y0: number): void {
  const { theme } = s;
  const [left, wide] = [56, Math.min(560, s.width - 220)];
  const all = lines.flatMap(([, points]) => points);
  const most = Math.max(...all.map((p) => p.removed), 1);
  const low = Math.min(...all.map((p) => p.value.low ?? p.value.estimate));
  const high = Math.max(...all.map((p) => p.value.high ?? p.value.estimate));
  const x = (p: CurveEntry): number => left + (wide * p.removed) / most;
  const y = (v: number): number => y0 + 10 + PLOT - (PLOT * (v - low)) / (high - low || 1);
  const known = all.some((p) => p.value.low !== null && p.value.high !== p.value.low);
  const title = known ? "curve_interval" : "curve_plain";
  const size = s.width < 440 ? 11 : SIZE;
  const said = s.t(title, { m: measureOf(s), n: all[0]?.value.n ?? 0 });
  m.text(4, y0, fitted(m, said, s.width - 8, size), { bold: true, fill: theme.ink, size });
  m.rect(left + 0.5, y0 + 10.5, wide, PLOT, { stroke: theme.line });
  for (const v of [low, (low + high) / 2, high])
    m.text(left - 6, y(v) + 4, number(v), { align: "end", size: 11, fill: theme.soft });
  m.text(left, y0 + PLOT + 24, "0", { size: 11, fill: theme.soft });
  m.text(left + wide, y0 + PLOT + 24, s.t("heads_removed", { n: most }), {
    align: "end",
    size: 11,
    fill: theme.soft,
  });
  lines.forEach(([order, points], i) => {
    const colour = series(i, 8, theme.dark);
    const up = points.flatMap((p) => [x(p), y(p.value.high ?? p.value.estimate)]);
    const down = [...points].reverse().flatMap((p) => [x(p), y(p.value.low ?? p.value.estimate)]);
    m.polygon([...up, ...down], { fill: rgb(colour), alpha: 0.18 });
    m.polyline(
      points.flatMap((p) => [x(p), y(p.value.estimate)]),
      { stroke: rgb(colour), width: 2, ...(i ? { dash: [6, 3] } : {}) },
    );
    const ly = y0 + 22 + i * 18;
    m.line(left + wide + 12, ly, left + wide + 34, ly, {
      stroke: rgb(colour),
      width: 2,
      ...(i ? { dash: [6, 3] } : {}),
    });
    m.text(left + wide + 40, ly + 4, fitted(m, order, s.width - left - wide - 44, 11), { size: 11, fill: theme.ink });
  });
}
