import { allHeads } from "../attention.tsx";
import type { Grid } from "../data.ts";
import { amountLegend, LEGEND, signLegend } from "../legend.ts";
import { amountRaster, signRaster } from "../map.ts";
import { fitted, type Marks } from "../marks/marks.ts";
import { mapMargins, namedMap } from "../named_map.ts";
import { rgb } from "../palette.ts";
import { Choice } from "../parts.tsx";
import type { ExampleEntry, SiteEntry } from "../records.generated.ts";
import { largest } from "../units.ts";
import { headName, keys, number, queries, type Scene, shown, type Table, type View } from "../view.ts";

const ROW = 20;
const GAP = 34;

const view: View = {
  name: "compare",
  title: "Compare",
  order: 9,
  attention: true,
  needs(manifest, example) {
    const many = manifest.examples.length > 1 || example.sites.length > 1 || example.methods.length > 1;
    const some = many || example.alternatives.length || (example.sites[0]?.heads ?? 0) > 1;
    return some ? null : "there is nothing to compare with";
  },
  height(s) {
    if (byRelevance(s)) return 30 + ROW * (left(s).units.names.length + 1) + 30;
    const { side, above, stacked } = frame(s);
    return (stacked ? 3 : 1) * (side + above + 24) + LEGEND + 12;
  },
  draw: (m, s) => (byRelevance(s) ? bars(m, s) : maps(m, s)),
  declared(s) {
    const { a, b } = names(s);
    const links = byRelevance(s) ? "" : `; ${matched(s)}`;
    return `A: ${a}; B: ${b}${links}`;
  },
  say(target, s) {
    if (byRelevance(s)) {
      const found = relevances(s);
      if (!found || target.unit === undefined) return "";
      const [x, y] = [found.a[target.unit] ?? 0, found.b[target.unit] ?? Number.NaN];
      return `${shown(left(s).units.names[target.unit])}: A ${number(x)}, B ${Number.isNaN(y) ? "–" : number(y)} (${s.t("share of the sum of sizes")})`;
    }
    const found = pair(s);
    if (!found || target.query === undefined || target.key === undefined) return "";
    const i = target.query * found.a.columns + target.key;
    const at = siteA(s);
    const [x, y] = [found.a.values[i] ?? 0, found.b.values[i] ?? 0];
    return `${shown(queries(s, at).names[target.query])} → ${shown(keys(s, at).names[target.key])}: A ${number(x)}, B ${number(y)}, B − A ${number(y - x)}`;
  },
  table(s): Table | null {
    const rows = numbers(s);
    return rows && { caption: s.t("The numbers"), columns: [s.t("number"), s.t("value")], rows };
  },
  controls(c) {
    const { manifest, state, t } = c;
    const alternatives = c.example.alternatives.map((x, i): [number, string] => [
      -1 - i,
      x.note || t("another attention, nearly the same answer"),
    ]);
    const at = siteA(c);
    const right = rightExample(c);
    return (
      <>
        {manifest.pairs.length > 0 && (
          <Choice
            label={t("Pair")}
            value={manifest.pairs.findIndex((p) => p.left === c.e && p.right === state.other.value)}
            options={[[-1, "–"], ...manifest.pairs.map((p, i): [number, string] => [i, p.name])]}
            pick={(i) => {
              const found = manifest.pairs[i];
              if (!found) return;
              state.example.value = found.left;
              state.other.value = found.right;
            }}
          />
        )}
        <Choice
          label="B"
          value={state.other.value}
          options={[
            ...alternatives,
            ...manifest.examples.map((x, i): [number, string] => [
              i,
              i === c.e ? t("the same example") : `${x.model ? `${x.model}: ` : ""}${x.title}`,
            ]),
          ]}
          pick={(i) => {
            state.other.value = i;
          }}
        />
        {c.example.methods.length > 0 && c.example.sites.length > 0 && (
          <Choice
            label={t("Shown")}
            value={byRelevance(c) ? "relevance" : "attention"}
            options={[
              ["attention", t("attention")],
              ["relevance", t("relevance")],
            ]}
            pick={(v) => {
              state.shown.value = v;
            }}
          />
        )}
        {byRelevance(c) ? (
          (["walk", "otherMethod"] as const).map((name, i) => (
            <Choice
              key={name}
              label={i ? t("Method B") : t("Method A")}
              value={method(c, i as 0 | 1)}
              options={(i ? right : c.example).methods.map((x, k) => [k, x.name])}
              pick={(k) => {
                state[name].value = k;
              }}
            />
          ))
        ) : (
          <>
            <Choice
              label={t("Layer A")}
              value={siteIndex(c)}
              options={c.example.sites.map((x, i) => [i, `${x.layer} ${t(x.kind)}`])}
              pick={(i) => {
                state.site.value = i;
              }}
            />
            <Choice
              label={t("Heads A")}
              value={state.pool.value === "one" ? Math.min(state.head.value, at.heads - 1) : -1}
              options={[[-1, t("mean")], ...allHeads(at).map((h): [number, string] => [h, headName(at, h)])]}
              pick={(h) => {
                state.pool.value = h < 0 ? "mean" : "one";
                state.head.value = Math.max(0, h);
              }}
            />
            {state.other.value >= 0 && (
              <>
                <Choice
                  label={t("Layer B")}
                  value={otherSite(c)}
                  options={right.sites.map((x, i) => [i, `${x.layer} ${t(x.kind)}`])}
                  pick={(i) => {
                    state.otherSite.value = i;
                  }}
                />
                <Choice
                  label={t("Heads B")}
                  value={otherHead(c)}
                  options={[
                    [-1, t("mean")],
                    ...allHeads(right.sites[otherSite(c)]!).map((h): [number, string] => [
                      h,
                      headName(right.sites[otherSite(c)]!, h),
                    ]),
                  ]}
                  pick={(h) => {
                    state.otherHead.value = h;
                  }}
                />
              </>
            )}
          </>
        )}
      </>
    );
  },
  below(c) {
    const rows = numbers(c);
    if (!rows) return null;
    return (
      <table data-numbers="">
        <caption>{c.t("The numbers")}</caption>
        <tbody>
          {rows.map(([name, value]) => (
            <tr key={String(name)}>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    );
  },
  start(s) {
    const linked = s.manifest.pairs.find((p) => p.left === s.e);
    const site = siteIndex(s);
    const other =
      linked?.right ?? (s.example.alternatives.length ? -1 : s.manifest.examples.length > 1 ? s.values.other : s.e);
    const alone = other === s.e;
    const shown =
      !s.example.sites.length || (alone && s.example.methods.length > 1 && s.example.sites.length < 2)
        ? "relevance"
        : "attention";
    const from = other < 0 ? s.example.alternatives[-1 - other]!.site : site;
    return {
      other,
      site: from,
      otherSite: alone && site > 0 ? site - 1 : from,
      otherHead: -1,
      shown,
      walk: 0,
      otherMethod: alone && s.example.methods.length > 1 ? 1 : 0,
    };
  },
};
export default view;

const left = (s: Scene): ExampleEntry => s.example;
const rightExample = (s: Scene): ExampleEntry =>
  s.values.other >= 0 ? (s.manifest.examples[s.values.other] ?? s.example) : s.example;
const rightNumber = (s: Scene): number => (s.values.other >= 0 ? s.values.other : s.e);
const siteIndex = (s: Scene): number => Math.min(s.values.site, s.example.sites.length - 1);
const siteA = (s: Scene): SiteEntry => s.example.sites[siteIndex(s)]!;
const otherSite = (s: Scene): number =>
  Math.max(0, Math.min(s.values.otherSite < 0 ? siteIndex(s) : s.values.otherSite, rightExample(s).sites.length - 1));
const otherHead = (s: Scene): number =>
  Math.min(s.values.otherHead, (rightExample(s).sites[otherSite(s)]?.heads ?? 1) - 1);
const method = (s: Scene, which: 0 | 1): number =>
  which
    ? Math.min(s.values.otherMethod, rightExample(s).methods.length - 1)
    : Math.min(s.values.walk, s.example.methods.length - 1);

function byRelevance(s: Scene): boolean {
  const possible = s.example.methods.length > 0 && rightExample(s).methods.length > 0;
  const attention = s.example.sites.length > 0 && rightExample(s).sites.length > 0;
  return possible && (s.values.shown === "relevance" || !attention);
}

function names(s: Scene): { a: string; b: string } {
  const right = rightExample(s);
  const who = (x: ExampleEntry, same: boolean): string =>
    same ? "" : `${x.model ? `${x.model}: ` : ""}“${x.title}”, `;
  const same = s.values.other === s.e || s.values.other < 0;
  if (byRelevance(s))
    return {
      a: who(s.example, same) + s.example.methods[method(s, 0)]!.name,
      b: who(right, same) + right.methods[method(s, 1)]!.name,
    };
  const at = siteA(s);
  const heads = (x: SiteEntry, h: number): string =>
    h < 0 ? s.t("mean over {n} heads", { n: x.heads }) : headName(x, h);
  const a = `${who(s.example, same)}${s.t("layer")} ${at.layer}, ${heads(at, s.values.pool === "one" ? Math.min(s.values.head, at.heads - 1) : -1)}`;
  if (s.values.other < 0) {
    const x = s.example.alternatives[-1 - s.values.other]!;
    return {
      a,
      b: `${x.note || s.t("another attention, nearly the same answer")} (${s.t("answer moved by")} ${number(x.change)}, ${s.t("divergence")} ${number(x.divergence)} nats)`,
    };
  }
  const other = right.sites[otherSite(s)]!;
  return { a, b: `${who(right, same)}${s.t("layer")} ${other.layer}, ${heads(other, otherHead(s))}` };
}

/** Places of B for the places of an axis of A: as the pack says, one to one, or by the names in their order. */
function places(s: Scene, axisA: number, axisB: number): Int32Array {
  const right = rightExample(s);
  const [a, b] = [s.example.axes[axisA]!, right.axes[axisB]!];
  const linked = s.manifest.pairs.find((p) => p.left === s.e && p.right === s.values.other)?.origin;
  if (linked && a.units.some((u) => u >= 0) && b.units.some((u) => u >= 0)) {
    const out = new Int32Array(a.names.length).fill(-1);
    b.units.forEach((u, j) => {
      const from = u >= 0 ? (linked[u] ?? -1) : -1;
      const i = from >= 0 ? a.units.indexOf(from) : b.special[j] ? a.names.indexOf(b.names[j]!) : -1;
      if (i >= 0 && out[i]! < 0) out[i] = j;
    });
    return out;
  }
  if (a.names.length === b.names.length) return Int32Array.from(a.names, (_, i) => i);
  return common(a.names, b.names);
}

/** The longest common subsequence of two lists of names. */
function common(a: readonly string[], b: readonly string[]): Int32Array {
  const wide = b.length + 1;
  const best = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      best[i * wide + j] =
        a[i] === b[j]
          ? best[(i + 1) * wide + j + 1]! + 1
          : Math.max(best[(i + 1) * wide + j]!, best[i * wide + j + 1]!);
  const out = new Int32Array(a.length).fill(-1);
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) out[i++] = j++;
    else if (best[(i + 1) * wide + j]! >= best[i * wide + j + 1]!) i++;
    else j++;
  }
  return out;
}

/** A, B as seen in the places of A, and the difference. */
function pair(s: Scene): { a: Grid; b: Grid; own: Grid; difference: Grid; unmatched: number } | null {
  const at = siteA(s);
  const heads = s.values.pool === "one" ? [Math.min(s.values.head, at.heads - 1)] : allHeads(at);
  const a = s.data.pooled(s.e, siteIndex(s), heads, s.values.pool === "one" ? "one" : "mean");
  let own: Grid | null;
  const v = s.values;
  if (v.other < 0) {
    const grids = s.data.alternative(s.e, -1 - v.other);
    own = grids && mean(s, `alternative:${s.e}:${v.other}`, grids);
  } else {
    const at2 = rightExample(s).sites[otherSite(s)]!;
    const h = otherHead(s);
    own = s.data.pooled(rightNumber(s), otherSite(s), h < 0 ? allHeads(at2) : [h], h < 0 ? "mean" : "one");
  }
  if (!a || !own) return null;
  const there = own;
  return s.data.once(`pair:${s.e}:${v.site}:${v.pool}:${v.head}:${v.other}:${v.otherSite}:${v.otherHead}`, () => {
    const at2 = v.other < 0 ? at : rightExample(s).sites[otherSite(s)]!;
    const one = (n: number): Int32Array => Int32Array.from({ length: n }, (_, i) => i);
    const rows = a.down > 1 ? one(a.rows) : places(s, at.queries, at2.queries);
    const columns = a.across > 1 ? one(a.columns) : places(s, at.keys, at2.keys);
    const b = new Float32Array(a.values.length);
    const d = new Float32Array(a.values.length);
    let top = 0;
    for (let r = 0; r < a.rows; r++)
      for (let c = 0; c < a.columns; c++) {
        const [i, j] = [rows[r]!, columns[c]!];
        const w = i >= 0 && j >= 0 && i < there.rows && j < there.columns ? there.values[i * there.columns + j]! : 0;
        b[r * a.columns + c] = w;
        d[r * a.columns + c] = w - a.values[r * a.columns + c]!;
        top = Math.max(top, Math.abs(d[r * a.columns + c]!));
      }
    const unmatched = columns.reduce((sum, x) => sum + (x < 0 ? 1 : 0), 0);
    return { a, b: { ...a, values: b, top: there.top }, own: there, difference: { ...a, values: d, top }, unmatched };
  });
}

function mean(s: Scene, key: string, grids: Grid[]): Grid {
  return s.data.once(key, () => {
    const values = Float32Array.from(
      grids[0]!.values,
      (_, i) => grids.reduce((sum, g) => sum + g.values[i]!, 0) / grids.length,
    );
    return { ...grids[0]!, values, top: values.reduce((a, b) => Math.max(a, b), 0) };
  });
}

function matched(s: Scene): string {
  const found = pair(s);
  if (!found) return s.t("loading…");
  return found.unmatched
    ? s.t("{n} places of A have no counterpart in B", { n: found.unmatched })
    : s.t("every place of A has its counterpart in B");
}

function frame(s: Scene): { side: number; above: number; left: number; stacked: boolean } {
  const [margin, above] = mapMargins(s, siteA(s));
  const stacked = s.width < 620;
  const side = stacked ? Math.min(300, s.width - margin - 10) : (s.width - margin - 2 * GAP - 8) / 3;
  return { side: Math.min(side, 320), above, left: margin, stacked };
}

function maps(m: Marks, s: Scene) {
  const { theme } = s;
  const f = frame(s);
  const found = pair(s);
  if (!found) {
    m.text(10, 30, s.t("loading…"), { fill: theme.soft });
    return {};
  }
  const at = siteA(s);
  const tall = at.rows === 1 ? 40 : f.side;
  const top = Math.max(found.a.top, found.own.top);
  const axes: [ReturnType<typeof queries>, ReturnType<typeof keys>] = [queries(s, at), keys(s, at)];
  const titles = ["A", "B", "B − A"];
  const rasters = [
    amountRaster(found.a, theme, top),
    amountRaster(found.b, theme, top),
    signRaster(found.difference, theme),
  ];
  const spots = titles.map((title, i) => {
    const x = f.stacked ? f.left : f.left + i * (f.side + GAP);
    const y = (f.stacked ? i * (f.side + f.above + 24) : 0) + f.above + 18 - s.scroll;
    m.text(x, y - f.above - 4, title, { bold: true, fill: theme.ink });
    namedMap(m, s, at, rasters[i]!, x, y, f.side, tall, axes, f.stacked || i === 0);
    return { x, y };
  });
  const p = s.values.hover;
  if (p?.query !== undefined && p.key !== undefined)
    for (const spot of spots) {
      const [w, h] = [f.side / at.columns, tall / at.rows];
      m.rect(spot.x + p.key * w, spot.y + p.query * h, Math.max(3, w), Math.max(3, h), {
        stroke: theme.focus,
        width: 2,
      });
    }
  const y = spots[2]!.y + tall + 10;
  amountLegend(
    m,
    theme,
    spots[0]!.x,
    f.stacked ? spots[1]!.y + tall + 6 : y,
    top,
    s.t("one scale for A and B"),
    s.width,
  );
  signLegend(
    m,
    theme,
    f.stacked ? f.left : Math.min(spots[2]!.x, s.width - 230),
    y,
    found.difference.top,
    [s.t("less in B"), s.t("more")],
    s.width,
  );
  return {
    hit(x: number, y2: number) {
      for (const spot of spots) {
        const [key, query] = [
          Math.floor(((x - spot.x) / f.side) * at.columns),
          Math.floor(((y2 - spot.y) / tall) * at.rows),
        ];
        if (key >= 0 && query >= 0 && key < at.columns && query < at.rows) return { query, key };
      }
      return null;
    },
  };
}

/** Relevances of A and B in the units of A, each divided by the sum of its sizes. */
function relevances(s: Scene): { a: Float32Array; b: Float32Array } | null {
  const [ra, rb] = [s.data.relevance(s.e), s.data.relevance(rightNumber(s))];
  if (!ra || !rb) return null;
  const right = rightExample(s);
  const [ua, ub] = [s.example.units, right.units];
  const linked = s.manifest.pairs.find((p) => p.left === s.e && p.right === s.values.other)?.origin;
  let map: Int32Array;
  if (linked) {
    map = new Int32Array(ua.names.length).fill(-1);
    linked.forEach((from, j) => {
      if (from >= 0 && map[from]! < 0) map[from] = j;
    });
  } else
    map = ua.names.length === ub.names.length ? Int32Array.from(ua.names, (_, i) => i) : common(ua.names, ub.names);
  const scaled = (v: Float32Array): Float32Array => {
    const sum = v.reduce((t, x) => t + Math.abs(x), 0) || 1;
    return v.map((x) => x / sum);
  };
  const [a, b] = [scaled(ra[method(s, 0)]!), scaled(rb[method(s, 1)]!)];
  return { a, b: Float32Array.from(map, (j) => (j < 0 ? Number.NaN : b[j]!)) };
}

function bars(m: Marks, s: Scene) {
  const { theme } = s;
  const found = relevances(s);
  if (!found) return {};
  const u = s.example.units;
  const name = Math.min(150, s.width * 0.25);
  const wide = (s.width - name - 20) / 3;
  const top = Math.max(largest(found.a), largest(Array.from(found.b, (x) => x || 0)));
  const gap = Array.from(found.a, (x, i) => (found.b[i]! || 0) - x);
  ["A", "B", "B − A"].forEach((title, j) =>
    m.text(name + (j + 0.5) * wide, 14 - s.scroll, title, { align: "middle", bold: true, fill: theme.ink }),
  );
  const signed = [s.example.methods[method(s, 0)]!.signed, rightExample(s).methods[method(s, 1)]!.signed, true];
  u.names.forEach((unit, i) => {
    const y = 24 + i * ROW - s.scroll;
    if (y < -ROW || y > (s.room || 1e6)) return;
    const lit = s.values.hover?.unit === i;
    m.text(name - 6, y + 14, fitted(m, shown(unit), name - 10), {
      align: "end",
      bold: lit,
      fill: u.special[i] ? theme.soft : theme.ink,
    });
    [found.a[i]!, found.b[i]!, gap[i]!].forEach((v, j) => {
      const zero = name + j * wide + (signed[j] ? wide / 2 : 6);
      const reach = signed[j] ? wide / 2 - 8 : wide - 14;
      if (Number.isNaN(v)) {
        m.text(zero, y + 14, "–", { fill: theme.soft });
        return;
      }
      const w = (reach * Math.abs(v)) / (top || 1);
      const colour = signed[j] ? (v >= 0 ? theme.plus : theme.minus) : theme.amount;
      m.rect(v < 0 ? zero - w : zero, y + 3, Math.max(0.5, Math.min(w, reach)), ROW - 6, {
        fill: rgb(colour),
        ...(lit ? { stroke: theme.focus } : {}),
      });
      m.line(zero, y, zero, y + ROW, { stroke: theme.line });
    });
  });
  m.text(
    name,
    24 + (u.names.length + 0.8) * ROW - s.scroll,
    s.t("length: share of the sum of sizes of each method; one scale"),
    { fill: theme.soft, size: 11 },
  );
  return {
    hit(_x: number, y: number) {
      const i = Math.floor((y + s.scroll - 24) / ROW);
      return i >= 0 && i < u.names.length ? { unit: i } : null;
    },
  };
}

/** What the pictures say, as numbers. */
function numbers(s: Scene): [string, string][] | null {
  const right = rightExample(s);
  const out: [string, string][] = [];
  if (byRelevance(s)) {
    const found = relevances(s);
    if (!found) return null;
    const free = s.example.units.special.map((x, i) => (x || Number.isNaN(found.b[i]!) ? -1 : i)).filter((i) => i >= 0);
    const [a, b] = [free.map((i) => found.a[i]!), free.map((i) => found.b[i]!)];
    const k = Math.min(5, Math.max(1, Math.floor(free.length / 3)));
    out.push([s.t("Kendall's tau-b over {n} units", { n: free.length }), number(kendall(a, b))]);
    out.push([s.t("strongest {k} in common", { k }), `${overlap(a, b, k)} / ${k}`]);
  } else {
    const found = pair(s);
    if (!found) return null;
    const { a, b } = found;
    let [variation, divergence] = [0, 0];
    for (let r = 0; r < a.rows; r++) {
      const [p, q] = [a, b].map((g) => g.values.subarray(r * a.columns, (r + 1) * a.columns)) as [
        Float32Array,
        Float32Array,
      ];
      variation += distance(p, q) / a.rows;
      divergence += jensenShannon(p, q) / a.rows;
    }
    out.push([s.t("total variation, mean over {n} rows", { n: a.rows }), number(variation)]);
    out.push([s.t("Jensen-Shannon divergence, mean over rows (nats, at most 0.693)"), number(divergence)]);
    out.push([s.t("largest difference of a weight"), number(found.difference.top)]);
  }
  const alternative = s.values.other < 0 ? s.example.alternatives[-1 - s.values.other] : undefined;
  if (alternative) out.push([s.t("answer moved by (total variation)"), number(alternative.change)]);
  else if (s.values.other !== s.e) {
    const said = (x: ExampleEntry): string =>
      `${x.predicted || "–"}${x.probability === null ? "" : ` (${x.probability.toFixed(3)})`}`;
    out.push([s.t("answer A → B"), `${said(s.example)} → ${said(right)}`]);
    const [p, q] = [s.example.distribution, right.distribution];
    if (p.length && p.length === q.length)
      out.push([
        s.t("answer moved by (total variation)"),
        number(distance(Float32Array.from(p), Float32Array.from(q))),
      ]);
  }
  return out;
}

function distance(p: Float32Array, q: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < p.length; i++) sum += Math.abs(p[i]! - q[i]!);
  return sum / 2;
}

function jensenShannon(p: Float32Array, q: Float32Array): number {
  const [sp, sq] = [p, q].map((v) => v.reduce((a, b) => a + b, 0) || 1) as [number, number];
  let sum = 0;
  for (let i = 0; i < p.length; i++) {
    const [a, b] = [p[i]! / sp, q[i]! / sq];
    const mid = (a + b) / 2;
    if (a > 0) sum += (a * Math.log(a / mid)) / 2;
    if (b > 0) sum += (b * Math.log(b / mid)) / 2;
  }
  return sum;
}

function kendall(a: readonly number[], b: readonly number[]): number {
  let [same, ta, tb, pairs] = [0, 0, 0, 0];
  for (let i = 0; i < a.length; i++)
    for (let j = 0; j < i; j++) {
      const x = Math.abs(a[i]! - a[j]!) <= 1e-6 ? 0 : Math.sign(a[i]! - a[j]!);
      const y = Math.abs(b[i]! - b[j]!) <= 1e-6 ? 0 : Math.sign(b[i]! - b[j]!);
      same += x * y;
      if (!x) ta++;
      if (!y) tb++;
      pairs++;
    }
  return same / (Math.sqrt((pairs - ta) * (pairs - tb)) || 1);
}

function overlap(a: readonly number[], b: readonly number[], k: number): number {
  const top = (v: readonly number[]): Set<number> =>
    new Set(
      v
        .map((_, i) => i)
        .sort((i, j) => v[j]! - v[i]! || i - j)
        .slice(0, k),
    );
  const other = top(b);
  return [...top(a)].filter((i) => other.has(i)).length;
}
