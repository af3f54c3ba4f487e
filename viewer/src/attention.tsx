/** Which attention is on the picture: site, heads, pooling, what is hidden. The same words and controls for every view. */

import type { ComponentChildren } from "preact";
import { type Grid, pooledTo } from "./data.ts";
import { allHeads } from "./heads.ts";
import { Choice, Range, Toggle } from "./parts.tsx";
import type { SiteEntry } from "./records.generated.ts";
import { hiddenSinks, sinks } from "./sinks.ts";
import { type Context, headName, keys, number, queries, type Scene, shown, site, siteName } from "./view.ts";
import { wordFor } from "./words.ts";

export interface Picked {
  at: SiteEntry;
  grid: Grid | null;
  /** Positions that are drawn. */
  rows: number[];
  columns: number[];
  heads: number[];
}

/** Cells of a side in a picture made of paths. */
const STILL = 160;

export { allHeads };

/** Sites that can be put together with this one: of its kind, over the same axes. */
export function alike(s: Scene, at: SiteEntry): number[] {
  const out: number[] = [];
  s.example.sites.forEach((other, i) => {
    if (other.kind === at.kind && other.queries === at.queries && other.keys === at.keys) out.push(i);
  });
  return out;
}

export function picked(s: Scene): Picked {
  const at = site(s)!;
  const { pool, layers, head } = s.values;
  const heads = pool === "one" ? [Math.min(head, at.heads - 1)] : allHeads(at);
  const same = alike(s, at);
  const whole =
    layers !== "one" && same.length > 1
      ? s.data.overLayers(s.e, same, heads, layers, pool)
      : s.data.pooled(s.e, s.values.site, heads, pool);
  const grid = whole && s.still ? pooledTo(whole, Math.min(whole.rows, STILL), Math.min(whole.columns, STILL)) : whole;
  return { at, grid, heads, ...places(s, at) };
}

/** Rows and columns that are drawn. */
export function places(s: Scene, at: SiteEntry): { rows: number[]; columns: number[] } {
  const { hideSpecial, pair } = s.values;
  const [q, k] = [queries(s, at), keys(s, at)];
  const [from, to] = pair === "all" ? ["", ""] : pair.split("-");
  const keep = (axis: typeof q, part: string | undefined): number[] =>
    axis.names
      .map((_, i) => i)
      .filter((i) => !(hideSpecial && axis.special[i]) && (!part || axis.part[i] === Number(part)));
  let rows = keep(q, from);
  const step = s.values.step;
  if (step >= 0 && s.example.made) rows = rows.filter((i) => i === stepRow(s, at, step));
  const hidden = hiddenSinks(s, at);
  const columns = keep(k, to);
  return { rows, columns: hidden.length ? columns.filter((i) => !hidden.includes(i)) : columns };
}

/** The row in which a writing step was computed. */
export function stepRow(s: Scene, at: SiteEntry, step: number): number {
  const made = s.example.made?.length ?? 0;
  // of a decoder alone the rows are prompt and new tokens; the last token made was not read any more
  return at.kind === "cross" || s.example.sites.some((x) => x.kind === "cross") ? step : at.rows - made + step;
}

export function isPair(s: Scene, at: SiteEntry): boolean {
  const parts = new Set(keys(s, at).part);
  return parts.size > 1;
}

/** Some keys by name. */
export const names = (s: Scene, at: SiteEntry, places: readonly number[]): string =>
  places.map((k) => shown(keys(s, at).names[k])).join(", ");

/** What is shown, in words. */
export function selection(s: Scene): string {
  const at = site(s);
  if (!at) return "";
  const { pool, layers, head, hideSpecial, pair, step } = s.values;
  const same = alike(s, at);
  const words = [
    layers !== "one" && same.length > 1
      ? s.t(layers === "max" ? "max_over_layers" : "mean_over_layers", { n: same.length })
      : siteName(at, s.t),
    pool === "one"
      ? at.heads > 1
        ? s.t("head_of", { h: Math.min(head, at.heads - 1), n: at.heads })
        : s.t("only_head")
      : s.t(pool === "max" ? "max_over_heads" : "mean_over_heads", { n: at.heads }),
  ];
  if (hideSpecial) words.push(s.t("special_hidden_rows"));
  const hidden = hiddenSinks(s, at);
  if (hidden.length) words.push(s.t("sinks_hidden", { x: names(s, at, hidden) }));
  if (pair !== "all") words.push(s.t("only_pair", { a: `text ${pair[0]}`, b: `text ${pair[2]}` }));
  if (step >= 0 && s.example.made) words.push(s.t("writing_step", { n: step, token: s.example.made[step] ?? "" }));
  return words.join("; ");
}

/** A weight with what is known about its error. */
export function exactly(s: Scene, at: SiteEntry, q: number, k: number, value: number): string {
  const whole = s.values.pool === "one" && s.values.layers === "one";
  const exact = whole ? s.data.exact(s.e, s.values.site, s.values.head, q, k) : null;
  return `${number(exact ?? value)} ± ${number(at.error)}`;
}

/** Layer, heads, pooling, special tokens: the controls that views of one map share. */
export function Controls(props: {
  c: Context;
  heads?: boolean;
  pooling?: boolean;
  /** Parts of the rows and columns; a view that does not leave them out must not offer it. */
  filters?: boolean;
}): ComponentChildren {
  const { c } = props;
  const { state, t } = c;
  const at = site(c);
  if (!at) return null;
  const special = keys(c, at).special.some(Boolean) || queries(c, at).special.some(Boolean);
  const made = c.example.made;
  return (
    <>
      <Choice
        label={t("pick_layer")}
        value={state.site.value}
        options={c.example.sites.map((x, i) => [
          i,
          `${x.layer} ${wordFor(t, "kind", x.kind)}${x.heads > 1 ? ` (${x.heads})` : ""}`,
        ])}
        pick={(i) => {
          state.site.value = i;
          if (state.view.value !== "head_view") state.locked.value = null;
        }}
      />
      {props.pooling !== false && alike(c, at).length > 1 && (
        <Choice
          label={t("pick_layers")}
          value={state.layers.value}
          options={[
            ["one", t("this_one")],
            ["mean", t("mean")],
            ["max", t("max")],
          ]}
          pick={(v) => {
            state.layers.value = v;
          }}
        />
      )}
      {props.heads !== false && at.heads > 1 && (
        <>
          <Choice
            label={t("pick_heads")}
            value={state.pool.value}
            options={[
              ["one", t("one")],
              ["mean", t("mean")],
              ["max", t("max")],
            ]}
            pick={(v) => {
              state.pool.value = v;
            }}
          />
          {state.pool.value === "one" && (
            <Choice
              label={t("pick_head")}
              value={Math.min(state.head.value, at.heads - 1)}
              options={allHeads(at).map((h) => [h, headName(at, h)])}
              pick={(h) => {
                state.head.value = h;
              }}
            />
          )}
        </>
      )}
      {props.filters !== false && isPair(c, at) && at.rows > 1 && (
        <Choice
          label={t("pick_texts")}
          value={state.pair.value}
          options={[
            ["all", t("all")],
            ["0-0", "A → A"],
            ["0-1", "A → B"],
            ["1-0", "B → A"],
            ["1-1", "B → B"],
          ]}
          pick={(v) => {
            state.pair.value = v;
          }}
        />
      )}
      {props.filters !== false && made && (
        <Range
          label={state.step.value < 0 ? t("all_steps") : t("step_n", { n: state.step.value })}
          value={state.step.value}
          low={-1}
          high={made.length - 1}
          step={1}
          pick={(v) => {
            state.step.value = v;
          }}
        />
      )}
      {props.filters !== false && <Sinks c={c} at={at} />}
      {props.filters !== false && special && (
        <Toggle
          label={t("hide_special")}
          value={state.hideSpecial.value}
          pick={(v) => {
            state.hideSpecial.value = v;
          }}
        />
      )}
    </>
  );
}

/** The switch that hides attention sinks, where there are some. */
export function Sinks(props: { c: Context; at: SiteEntry }): ComponentChildren {
  const { c, at } = props;
  if (!sinks(c, at).length) return null;
  return (
    <Toggle
      label={c.t("hide_sinks")}
      value={c.state.hideSinks.value}
      pick={(v) => {
        c.state.hideSinks.value = v;
      }}
    />
  );
}
