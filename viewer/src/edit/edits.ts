/** Edits of attention: a list is all the state there is. Undo is one edit less, a Spec is the list. */

import { Data } from "../data.ts";
import { type EditEntry, type Edited, finished, gunzip, packSource } from "../source.ts";
import { type Context, type Scene, site } from "../view.ts";
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
  state.busy.value = t("asking the model…");
  try {
    const found = await finished<Edited>(
      live,
      "edit",
      { pack: live.pack, example: c.e, edits },
      (job) => {
        state.busy.value = job.stage || t("asking the model…");
      },
      { wanted: false },
    );
    const source = await packSource(live, found.pack);
    state.after.value = edits.length
      ? new Data(source.manifest, async (id) => gunzip(await source.chunk(id)), c.refresh)
      : null;
    state.outcome.value = found;
    state.spec.value = "";
  } catch (error) {
    state.edits.value = before; // what the model refused is not on the list
    state.problem.value = error instanceof Error ? error.message : String(error);
  } finally {
    state.busy.value = "";
  }
}

export async function alternative(c: Context): Promise<void> {
  const { live, state, t } = c;
  if (!live) return;
  state.problem.value = "";
  state.busy.value = t("looking for another attention with the same answer…");
  try {
    const found = await finished<{ edits: EditEntry[]; divergence: number; change: number; source: string }>(
      live,
      "alternative",
      { pack: live.pack, example: c.e },
      (job) => {
        state.busy.value = job.stage;
      },
      { wanted: false },
    );
    if (found.edits.length) await apply(c, found.edits);
    else state.problem.value = t("No other attention with nearly the same answer was found: that is the finding.");
  } catch (error) {
    state.problem.value = error instanceof Error ? error.message : String(error);
  } finally {
    state.busy.value = "";
  }
}

export function share(c: Context): void {
  const text = JSON.stringify(c.state.outcome.value?.spec ?? {});
  c.state.spec.value = text;
  void navigator.clipboard?.writeText(text).catch(() => undefined);
}

/** Somebody else's text and edits, on this model. */
export async function opened(c: Context): Promise<void> {
  const { live, state } = c;
  if (!live) return;
  state.problem.value = "";
  try {
    const spec: unknown = JSON.parse(state.given.value);
    const told = (job: { stage: string }): void => {
      state.busy.value = job.stage;
    };
    const found = await finished<{ pack: string; edits: EditEntry[] }>(live, "open", { spec }, told, { wanted: false });
    await c.open(found.pack);
    await apply({ ...c, live: { ...live, pack: found.pack }, e: 0 }, found.edits);
  } catch (error) {
    state.problem.value = error instanceof Error ? error.message : String(error);
  } finally {
    state.busy.value = "";
  }
}

/** An edit in words; where it applies stands in brackets. */
export function words(e: EditEntry, t: Scene["t"]): string {
  const where = [
    e.site,
    e.heads && t("heads {h}", { h: e.heads.join(", ") }),
    e.queries && t("rows {r}", { r: e.queries.join(", ") }),
  ];
  const what =
    e.what === "move"
      ? t("move {p} % of key {a} to key {b}", {
          p: Math.round(100 * (e.share ?? 1)),
          a: e.from ?? "",
          b: e.to ?? "",
        })
      : t(e.what.replace("_", " "));
  const at = e.keys && e.what !== "move" ? ` ${t("keys {k}", { k: e.keys.join(", ") })}` : "";
  return `${what}${at} (${where.filter(Boolean).join(", ")})`;
}
