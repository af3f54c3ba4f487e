/** What stands on the two sides of a comparison: examples, sites, heads, methods, and what they are called. */

import type { ExampleEntry, SiteEntry } from "../records.generated.ts";
import { headName, number, type Scene } from "../view.ts";

export const left = (s: Scene): ExampleEntry => s.example;
export const rightExample = (s: Scene): ExampleEntry =>
  s.values.other >= 0 ? (s.manifest.examples[s.values.other] ?? s.example) : s.example;
export const rightNumber = (s: Scene): number => (s.values.other >= 0 ? s.values.other : s.e);
export const siteIndex = (s: Scene): number => Math.min(s.values.site, s.example.sites.length - 1);
export const siteA = (s: Scene): SiteEntry => s.example.sites[siteIndex(s)]!;
export const otherSite = (s: Scene): number =>
  Math.max(0, Math.min(s.values.otherSite < 0 ? siteIndex(s) : s.values.otherSite, rightExample(s).sites.length - 1));
export const otherHead = (s: Scene): number =>
  Math.min(s.values.otherHead, (rightExample(s).sites[otherSite(s)]?.heads ?? 1) - 1);
export const method = (s: Scene, which: 0 | 1): number =>
  which
    ? Math.min(s.values.otherMethod, rightExample(s).methods.length - 1)
    : Math.min(s.values.walk, s.example.methods.length - 1);

export function byRelevance(s: Scene): boolean {
  const possible = s.example.methods.length > 0 && rightExample(s).methods.length > 0;
  const attention = s.example.sites.length > 0 && rightExample(s).sites.length > 0;
  return possible && (s.values.shown === "relevance" || !attention);
}

export function names(s: Scene): { a: string; b: string } {
  const right = rightExample(s);
  const same = s.values.other === s.e || s.values.other < 0;
  const models = s.example.model !== right.model;
  const who = (x: ExampleEntry, e: number): string =>
    same ? "" : `${models && x.model ? `${x.model}, ` : ""}${s.t("example_n", { n: e })} “${x.title}”, `;
  if (byRelevance(s))
    return {
      a: who(s.example, s.e) + s.example.methods[method(s, 0)]!.name,
      b: who(right, s.values.other) + right.methods[method(s, 1)]!.name,
    };
  const at = siteA(s);
  const heads = (x: SiteEntry, h: number): string =>
    h < 0 && x.heads > 1 ? s.t("mean_over_heads", { n: x.heads }) : headName(x, Math.max(0, h));
  const a = `${who(s.example, s.e)}${s.t("layer")} ${at.layer}, ${heads(at, s.values.pool === "one" ? Math.min(s.values.head, at.heads - 1) : -1)}`;
  if (s.values.other < 0) {
    const x = s.example.alternatives[-1 - s.values.other]!;
    return {
      a,
      b: `${x.note || s.t("alternative_attention")} (${s.t("answer_moved")} ${number(x.change)}, ${s.t("divergence")} ${number(x.divergence)} nats)`,
    };
  }
  const other = right.sites[otherSite(s)]!;
  return { a, b: `${who(right, s.values.other)}${s.t("layer")} ${other.layer}, ${heads(other, otherHead(s))}` };
}
