/** All views in their order, and what a fresh one shows: the same for a browser and for a picture without one. */

import views from "glob:./views";
import type { Manifest } from "./records.generated.ts";
import { START, type Values } from "./state.ts";
import type { View } from "./view.ts";

export const ordered: View[] = [...views].sort((a, b) => a.order - b.order);

const CJK = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/;

/** The last site with all its heads, every method; texts that are read across lie. */
export function initial(manifest: Manifest, e: number, given: Partial<Values> = {}): Values {
  const example = manifest.examples[e];
  const many = manifest.examples.length;
  const site = given.site ?? (example ? Math.max(0, example.sites.length - 1) : 0);
  const names = example?.axes[example.sites[site]?.keys ?? 0]?.names ?? [];
  return {
    ...START,
    example: e,
    site,
    pool: (example?.sites[site]?.heads ?? 1) > 1 ? "mean" : "one",
    methods: example?.methods.map((_, i) => i) ?? [],
    upright: names.filter((n) => CJK.test(n)).length * 2 < names.length || names.length === 0,
    other: many > 1 ? (e + 1) % many : e,
    otherSite: site,
    ...given,
  };
}
