import { allHeads } from "../attention.tsx";
import { bars, barsHeight } from "../compare/bars.ts";
import { maps, mapsHeight } from "../compare/maps.ts";
import { numbers } from "../compare/numbers.ts";
import { alone, pair, relevances } from "../compare/pairing.ts";
import { byRelevance, method, names, otherHead, otherSite, rightExample, siteA, siteIndex } from "../compare/sides.ts";
import { Choice } from "../parts.tsx";
import { headName, keys, number, queries, type Scene, shown, type Table, type View } from "../view.ts";
import { wordFor } from "../words.ts";

const view: View = {
  name: "compare",
  title: "view_compare",
  order: 9,
  attention: () => true,
  needs(manifest, example) {
    const many = manifest.examples.length > 1 || example.sites.length > 1 || example.methods.length > 1;
    const some = many || example.alternatives.length || (example.sites[0]?.heads ?? 0) > 1;
    return some ? null : "no_comparison";
  },
  height(s) {
    return byRelevance(s) ? barsHeight(s) : mapsHeight(s);
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
      return `${shown(s.example.units.names[target.unit])}: A ${number(x)}, B ${Number.isNaN(y) ? "–" : number(y)} (${s.t("share_of_sum")})`;
    }
    const found = pair(s);
    if (!found || target.query === undefined || target.key === undefined) return "";
    const i = target.query * found.a.columns + target.key;
    const at = siteA(s);
    const [x, y] = [found.a.values[i] ?? 0, found.b.values[i] ?? Number.NaN];
    const other = Number.isNaN(y) ? `B – (${s.t("no_counterpart")})` : `B ${number(y)}, B − A ${number(y - x)}`;
    return `${shown(queries(s, at).names[target.query])} → ${shown(keys(s, at).names[target.key])}: A ${number(x)}, ${other}`;
  },
  table(s): Table | null {
    const rows = numbers(s);
    return rows && { caption: s.t("numbers"), columns: [s.t("number"), s.t("value")], rows };
  },
  controls(c) {
    const { manifest, state, t } = c;
    const alternatives = c.example.alternatives.map((x, i): [number, string] => [
      -1 - i,
      x.note || t("alternative_attention"),
    ]);
    const at = siteA(c);
    const right = rightExample(c);
    return (
      <>
        {manifest.pairs.length > 0 && (
          <Choice
            label={t("pick_pair")}
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
              i === c.e ? t("same_example") : `${x.model ? `${x.model}: ` : ""}${x.title}`,
            ]),
          ]}
          pick={(i) => {
            state.other.value = i;
          }}
        />
        {c.example.methods.length > 0 && c.example.sites.length > 0 && (
          <Choice
            label={t("pick_shown")}
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
              label={i ? t("method_b") : t("method_a")}
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
              label={t("layer_a")}
              value={siteIndex(c)}
              options={c.example.sites.map((x, i) => [i, `${x.layer} ${wordFor(t, "kind", x.kind)}`])}
              pick={(i) => {
                state.site.value = i;
              }}
            />
            <Choice
              label={t("heads_a")}
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
                  label={t("layer_b")}
                  value={otherSite(c)}
                  options={right.sites.map((x, i) => [i, `${x.layer} ${wordFor(t, "kind", x.kind)}`])}
                  pick={(i) => {
                    state.otherSite.value = i;
                  }}
                />
                <Choice
                  label={t("heads_b")}
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
        <caption>{c.t("numbers")}</caption>
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

/** Which places have no counterpart. */
function matched(s: Scene): string {
  const found = pair(s);
  if (!found) return s.t("loading");
  const without = found.columns.filter((c) => c < 0).length;
  const some = (list: string[]): string => list.slice(0, 6).map(shown).join(" ") + (list.length > 6 ? " …" : "");
  const only = alone(s);
  return [
    without ? s.t("unpaired_places", { n: without }) : s.t("all_paired"),
    only.a.length ? s.t("only_in_a", { x: some(only.a) }) : "",
    only.b.length ? s.t("only_in_b", { x: some(only.b) }) : "",
  ]
    .filter(Boolean)
    .join("; ");
}
