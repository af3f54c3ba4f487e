import { allHeads } from "../attention.tsx";
import { add, alternative, move, opened, redo, share, undo, words } from "../edit/edits.ts";
import { query, row } from "../edit/row.ts";
import { fitted } from "../marks/marks.ts";
import { rgb } from "../palette.ts";
import { Button, Choice, Range } from "../parts.tsx";
import { headName, keys, number, queries, shown, site, type Table, type View } from "../view.ts";
import { wordFor } from "../words.ts";

const PLOT = 210;
const TOP = 20;

/** Counterfactual attention: the experiment of Jain and Wallace by hand. Needs a model that answers. */
const view: View = {
  name: "counterfactual",
  title: "view_counterfactual",
  order: 10,
  attention: () => true,
  needs: (_, example, live) => (!live ? "no_live" : example.sites.length ? null : "no_attention"),
  height: () => TOP + PLOT + 100,
  draw(m, s) {
    const { theme } = s;
    const at = site(s)!;
    const k = keys(s, at);
    const before = row(s, s.data, s.e);
    const after = s.values.after ? row(s, s.values.after, s.values.after.manifest.examples.length - 1) : before;
    const left = 44;
    const wide = (s.width - left - 8) / at.columns;
    if (!before) {
      m.text(left, 40, s.t("loading"), { fill: theme.soft });
      return {};
    }
    const top = Math.max(...before, ...(after ?? [0]), 1e-6);
    const y = (v: number): number => TOP + PLOT - (PLOT * v) / top;
    for (const v of [0, top / 2, top]) {
      m.line(left, y(v), s.width - 8, y(v), { stroke: theme.line });
      m.text(left - 5, y(v) + 4, number(v), { align: "end", size: 11, fill: theme.soft });
    }
    for (let i = 0; i < at.columns; i++) {
      const x = left + i * wide;
      const [b, a] = [before[i]!, after?.[i] ?? 0];
      m.rect(x + wide * 0.12, y(b), wide * 0.38, TOP + PLOT - y(b), { fill: theme.dark ? "#7a7f89" : "#a5abb5" });
      m.rect(x + wide * 0.5, y(a), wide * 0.38, TOP + PLOT - y(a), { fill: rgb(theme.amount) });
      const lit = s.values.hover?.key === i;
      const held = s.values.locked?.key === i;
      if (lit || held) m.rect(x + 1, TOP, wide - 2, PLOT + 4, { stroke: theme.focus, width: held ? 3 : 1.5 });
      if (wide >= 9) {
        const size = Math.min(12, wide + 2);
        m.text(x + wide / 2 + 3, TOP + PLOT + 12, fitted(m, shown(k.names[i]), 84, size), {
          rotate: -60,
          align: "end",
          size,
          bold: lit || held,
          fill: theme.ink,
        });
      }
    }
    m.rect(left, 4, 10, 10, { fill: theme.dark ? "#7a7f89" : "#a5abb5" });
    m.text(left + 14, 13, s.t("unedited"), { size: 11, fill: theme.soft });
    m.rect(left + 150, 4, 10, 10, { fill: rgb(theme.amount) });
    m.text(left + 164, 13, s.t("edited"), { size: 11, fill: theme.soft });
    return {
      hit(x, yy) {
        const i = Math.floor((x - left) / wide);
        return i >= 0 && i < at.columns && yy > TOP - 4 ? { key: i } : null;
      },
    };
  },
  declared(s) {
    const at = site(s)!;
    const heads =
      s.values.pool === "one"
        ? headName(at, Math.min(s.values.head, at.heads - 1))
        : s.t("all_heads_mean", { n: at.heads });
    return `${s.t("layer")} ${at.layer}, ${heads}; ${s.t("row_of", { q: shown(queries(s, at).names[query(s)]) })}; ${s.t("edits_count", { n: s.values.edits.length })}; ${s.t("drag_hint")}`;
  },
  say(target, s) {
    const at = site(s)!;
    const [b, a] = [
      row(s, s.data, s.e),
      s.values.after && row(s, s.values.after, s.values.after.manifest.examples.length - 1),
    ];
    if (target.key === undefined || !b) return "";
    return `${shown(keys(s, at).names[target.key])}: ${number(b[target.key] ?? 0)}${a ? ` → ${number(a[target.key] ?? 0)}` : ""}`;
  },
  table(s): Table | null {
    const at = site(s)!;
    const [b, a] = [
      row(s, s.data, s.e),
      s.values.after && row(s, s.values.after, s.values.after.manifest.examples.length - 1),
    ];
    if (!b) return null;
    return {
      caption: view.declared(s),
      columns: [s.t("key"), s.t("before"), s.t("after")],
      rows: keys(s, at).names.map((name, i) => [
        shown(name),
        Number(b[i]!.toFixed(5)),
        Number((a ?? b)[i]!.toFixed(5)),
      ]),
    };
  },
  controls(c) {
    const { state, t } = c;
    const at = site(c)!;
    const here = {
      site: at.key,
      ...(state.pool.value === "one" ? { heads: [Math.min(state.head.value, at.heads - 1)] } : {}),
    };
    const row = { ...here, queries: [query(c)] };
    const key = state.locked.value?.key;
    return (
      <>
        <Choice
          label={t("pick_layer")}
          value={state.site.value}
          options={c.example.sites.map((x, i) => [i, `${x.layer} ${wordFor(t, "kind", x.kind)}`])}
          pick={(i) => {
            state.site.value = i;
          }}
        />
        {at.heads > 1 && (
          <Choice
            label={t("pick_heads")}
            value={state.pool.value === "one" ? Math.min(state.head.value, at.heads - 1) : -1}
            options={[[-1, t("all")], ...allHeads(at).map((h): [number, string] => [h, headName(at, h)])]}
            pick={(h) => {
              state.pool.value = h < 0 ? "mean" : "one";
              state.head.value = Math.max(0, h);
            }}
          />
        )}
        {at.rows > 1 && (
          <Choice
            label={t("pick_row_of")}
            value={query(c)}
            options={queries(c, at).names.map((n, i) => [i, `${i} ${shown(n)}`])}
            pick={(i) => {
              state.from.value = i;
            }}
          />
        )}
        <Range
          label={t("share_percent", { n: Math.round(100 * state.share.value) })}
          value={state.share.value}
          low={0.1}
          high={1}
          step={0.1}
          pick={(v) => {
            state.share.value = v;
          }}
        />
        <span class="squares wide">
          <Button click={() => add(c, { what: "uniform", ...row })}>{t("uniform_row")}</Button>
          <Button click={() => add(c, { what: "uniform", ...here })}>{t("uniform_all")}</Button>
          <Button click={() => add(c, { what: "knock_out", ...row, keys: [key ?? 0] })} off={key === undefined}>
            {t("knock_out_edge")}
          </Button>
          <Button click={() => add(c, { what: "mask_heads", ...here })}>{t("switch_head_off")}</Button>
          {c.live?.hello.can.alternative && <Button click={() => void alternative(c)}>{t("load_alternative")}</Button>}
        </span>
        <span class="squares wide">
          <Button click={() => undo(c)} off={!state.edits.value.length}>
            {t("undo")}
          </Button>
          <Button click={() => redo(c)} off={!state.undone.value.length}>
            {t("redo")}
          </Button>
          <Button click={() => share(c)} off={!state.outcome.value}>
            {t("share_as_spec")}
          </Button>
        </span>
      </>
    );
  },
  below(c) {
    const { state, t } = c;
    const found = state.outcome.value;
    return (
      <div>
        {state.busy.value && (
          <p role="status">
            {`${state.busy.value} `}
            {state.stop.value && (
              <Button
                click={() => {
                  if (state.stop.value) state.stop.value.wanted = true;
                }}
              >
                {t("cancel")}
              </Button>
            )}
          </p>
        )}
        {state.problem.value && (
          <p class="error" role="alert">
            {state.problem.value}
          </p>
        )}
        {found && (
          <section class="bars" data-outcome="" aria-label={t("answer_change_caption")}>
            {found.before.distribution.map(([label, p], i) => {
              const now = found.after.distribution[i]?.[1] ?? 0;
              return (
                <>
                  <b>{label}</b>
                  <span>
                    <span class="bar1" style={{ display: "block", width: `${100 * p}%` }} />
                    <span class="bar2" style={{ display: "block", width: `${100 * now}%` }} />
                  </span>
                  <span>{p.toFixed(3)}</span>
                  <span>{`→ ${now.toFixed(3)}`}</span>
                </>
              );
            })}
          </section>
        )}
        {found && (
          <p data-change="">
            {t("answer_change", {
              a: `${found.before.label} (${found.before.probability.toFixed(3)})`,
              b: `${found.after.label} (${found.after.probability.toFixed(3)})`,
              c: number(found.change),
            })}
          </p>
        )}
        {state.told.value && <p data-told="">{state.told.value}</p>}
        {state.edits.value.length > 0 && (
          <ol>
            {state.edits.value.map((e, i) => (
              <li key={i}>{words(e, c)}</li>
            ))}
          </ol>
        )}
        {state.spec.value && (
          <label class="control">
            <span>{t("spec_to_copy")}</span>
            <textarea readOnly rows={3} cols={60} value={state.spec.value} />
          </label>
        )}
        <details open={state.given.value !== ""}>
          <summary>{t("open_spec")}</summary>
          <label class="control">
            <span>{t("spec_to_open")}</span>
            <textarea
              rows={3}
              cols={60}
              value={state.given.value}
              onInput={(e) => {
                state.given.value = e.currentTarget.value;
              }}
            />
          </label>
          <Button click={() => void opened(c)} off={!state.given.value.trim()}>
            {t("apply_here")}
          </Button>
        </details>
      </div>
    );
  },
  click(target, c) {
    c.state.locked.value = c.state.locked.value?.key === target.key ? null : { key: target.key! };
  },
  drag(from, to, c) {
    if (from.key === undefined || to.key === undefined || from.key === to.key) return;
    move(c, from.key, to.key);
  },
  key(key, c) {
    const n = site(c)!.columns;
    const at = c.state.hover.value?.key ?? -1;
    const step = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
    if (step) c.state.hover.value = { key: Math.min(n - 1, Math.max(0, at + step)) };
    else if (key === "Enter" || key === " ") c.state.locked.value = at < 0 ? null : { key: at };
    else if (key === "m" && c.state.locked.value?.key !== undefined && at >= 0) move(c, c.state.locked.value.key, at);
    else if (key === "u") undo(c);
    else return false;
    return true;
  },
};
export default view;
