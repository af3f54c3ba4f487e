/**
 * The words of the interface by key. English is bundled (words.generated.ts, from the `[viewer]` table of
 * present/messages/languages/en.toml); a page, app or widget in another language hands over that language's table.
 */

import { EN } from "./words.generated.ts";

export type Key = keyof typeof EN;
export type Dictionary = Readonly<Partial<Record<string, string>>>;
export type Translate = (key: Key, values?: Record<string, string | number>) => string;

/** `{n:head|heads}`: the first word for 1, the second for every other value. */
const PLURAL = /\{(\w+):([^{}|]*)\|([^{}|]*)\}/g;

export function translator(dictionary: Dictionary = {}): Translate {
  return (key, values = {}) =>
    (dictionary[key] ?? EN[key])
      .replace(PLURAL, (_, name: string, one: string, many: string) => (String(values[name]) === "1" ? one : many))
      .replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
}

/** The word for a name that arrives as data (a kind of site, a stage of a job), or that name where there is none. */
export function wordFor(t: Translate, family: "edit" | "kind" | "stage" | "unit", name: string): string {
  const key = `${family}_${name}`;
  return key in EN ? t(key as Key) : name;
}
