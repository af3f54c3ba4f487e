/** Edits of attention: a list is all the state there is. Undo is one edit less, a Spec is the list. */

import { Data } from "../data.ts";
import type { AxisEntry } from "../records.generated.ts";
import { type EditEntry, type Edited, finished, gunzip, packSource } from "../source.ts";
import { type Context, keys, number, queries, type Scene, shown, site } from "../view.ts";
import { wordFor } from "../words.ts";
import { query } from "./row.ts";

export function move(c: Context, from: number, to: number): void {
  const at = site(c)!;
  const heads = c.state.pool.value === "one" ? { heads: [Math.min(c.state.head.value, at.heads - 1)] } : {};
  add(c, { what: "move", site: at.key, ...heads, queries: [query(c)], from, to, share: c.state.share.value });
}

export function add(c: Context, edit: EditEntry): void {
  c.state.undone.value = [];
  void apply(c, [...c.state.edits.value, edit]);
}

export function undo(c: Context): void {
  const last = c.state.edits.value.at(-1);
  if (!last) return;
  c.state.undone.value = [...c.state.undone.value, last];
  void apply(c, c.state.edits.value.slice(0, -1));
}

export function redo(c: Context): void {
  const last = c.state.undone.value.at(-1);
  if (!last) return;
  c.state.undone.value = c.state.undone.value.slice(0, -1);
  void apply(c, [...c.state.edits.value, last]);
}

async function apply(c: Context, edits: EditEntry[]): Promise<void> {
  const { live, state, t } = c;
  if (!live) return;
  const before = state.edits.value;
  state.edits.value = edits;
  state.problem.value = "";
  state.told.value = "";
  state.busy.value = t("stage_model");
  const stop = { wanted: false };
  state.stop.value = stop;
  // who edits again before the answer is there wants the answer to the new list: one that comes late is not shown
  const late = (): boolean => state.stop.value !== stop;
  try {
    const found = await finished<Edited>(
      live,
      "edit",
      { pack: live.pack, example: c.e, edits },
      (job) => {
        if (!late()) state.busy.value = wordFor(t, "stage", job.stage || "model");
      },
      stop,
      t,
    );
    const source = await packSource(live, found.pack);
    if (late()) return;
    state.after.value = edits.length
      ? new Data(source.manifest, async (id) => gunzip(await source.chunk(id)), c.refresh)
      : null;
    state.outcome.value = found;
    state.spec.value = "";
  } catch (error) {
    if (late()) return;
    state.edits.value = before; // what the model refused is not on the list
    state.problem.value = error instanceof Error ? error.message : String(error);
  } finally {
    if (!late()) {
      state.busy.value = "";
      state.stop.value = null;
    }
  }
}

export async function alternative(c: Context): Promise<void> {
  const { live, state, t } = c;
  if (!live) return;
  state.problem.value = "";
  state.busy.value = t("stage_alternative");
  const stop = { wanted: false };
  state.stop.value = stop;
  try {
    const found = await finished<{ edits: EditEntry[]; divergence: number; change: number; source: string }>(
      live,
      "alternative",
      { pack: live.pack, example: c.e },
      (job) => {
        state.busy.value = wordFor(t, "stage", job.stage);
      },
      stop,
      t,
    );
    const far = { d: number(found.divergence), c: number(found.change) };
    const told = found.source === "audit" ? t("alternative_audited", far) : t("alternative_searched", far);
    if (found.edits.length) {
      await apply(c, found.edits);
      state.told.value = told;
    } else state.problem.value = t("no_alternative");
  } catch (error) {
    state.problem.value = error instanceof Error ? error.message : String(error);
  } finally {
    state.busy.value = "";
    state.stop.value = null;
  }
}

export function share(c: Context): void {
  const text = JSON.stringify(c.state.outcome.value?.spec ?? {});
  c.state.spec.value = text;
  void navigator.clipboard?.writeText(text).catch(() => undefined);
}

/** Somebody else's text and edits, on this model. */
export async function opened(c: Context): Promise<void> {
  const { live, state, t } = c;
  if (!live) return;
  state.problem.value = "";
  const stop = { wanted: false };
  state.stop.value = stop;
  try {
    const spec = parsed(state.given.value, t);
    const told = (job: { stage: string }): void => {
      state.busy.value = wordFor(t, "stage", job.stage);
    };
    const found = await finished<{ pack: string; edits: EditEntry[] }>(live, "open", { spec }, told, stop, t);
    await c.open(found.pack);
    await apply({ ...c, live: { ...live, pack: found.pack }, e: 0 }, found.edits);
  } catch (error) {
    state.problem.value = error instanceof Error ? error.message : String(error);
  } finally {
    state.busy.value = "";
    state.stop.value = null;
  }
}

function parsed(text: string, t: Scene["t"]): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${t("spec_not_json")} (${error instanceof Error ? error.message : error})`);
  }
}

const FEW = 4;

/** An edit in words, places by their names; where it applies stands in brackets. */
export function words(e: EditEntry, s: Scene): string {
  const { t } = s;
  const at = s.example.sites.find((x) => x.key === e.site);
  const named = (axis: AxisEntry | undefined, i: number): string => `“${shown(axis?.names[i] ?? String(i))}”`;
  const listed = (axis: AxisEntry | undefined, all: number[]): string =>
    all.length > FEW ? t("n_places", { n: all.length }) : all.map((i) => named(axis, i)).join(", ");
  const [q, k] = at ? [queries(s, at), keys(s, at)] : [undefined, undefined];
  const where = [
    e.site,
    e.heads && t("heads_h", { h: e.heads.join(", ") }),
    e.queries && t("row_of", { q: listed(q, e.queries) }),
  ];
  const what =
    e.what === "move"
      ? t("edit_move", {
          p: Math.round(100 * (e.share ?? 1)),
          a: named(k, e.from ?? -1),
          b: named(k, e.to ?? -1),
        })
      : wordFor(t, "edit", e.what);
  const over = e.keys && e.what !== "move" ? ` ${listed(k, e.keys)}` : "";
  return `${what}${over} (${where.filter(Boolean).join(", ")})`;
}
