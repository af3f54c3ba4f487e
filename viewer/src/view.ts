/** A view is one file of `views/` that exports one of these. It draws through marks, from data that may not be there. */

import type { ComponentChildren } from "preact";
import type { Data } from "./data.ts";
import type { Marks } from "./marks/marks.ts";
import type { Theme } from "./palette.ts";
import type { AxisEntry, ExampleEntry, Manifest, SiteEntry, VerdictEntry } from "./records.generated.ts";
import type { Live } from "./source.ts";
import type { State, Target, Values } from "./state.ts";
import { type Key, type Translate, wordFor } from "./words.ts";

/** Everything a drawing depends on; values are those of the moment. */
export interface Scene {
  manifest: Manifest;
  example: ExampleEntry;
  /** Its number. */
  e: number;
  data: Data;
  values: Values;
  theme: Theme;
  width: number;
  /** Pixels above the window of a long picture. */
  scroll: number;
  /** Height of that window. */
  room: number;
  /** A picture of paths, not of pixels: maps are pooled to what can be read. */
  still?: boolean;
  t: Translate;
}

export interface Context extends Scene {
  state: State;
  live: Live | null;
  /** Show another pack (a live host made one). */
  open(pack: string): Promise<void>;
  refresh(): void;
}

export interface Drawn {
  /** What lies under a point. */
  hit?(x: number, y: number): Target | null;
}

export interface Table {
  caption: string;
  columns: string[];
  rows: (string | number)[][];
}

export interface View {
  name: string;
  title: Key;
  /** Place in the row of views. */
  order: number;
  /** Whether attention is on the picture, so that the caveat has to stand beside it. */
  attention(scene: Scene): boolean;
  /** Null if it can be shown; else why not. */
  needs(manifest: Manifest, example: ExampleEntry, live: boolean): Key | null;
  /** Height of the whole picture at a width. Known from the manifest alone, so nothing jumps when data arrive. */
  height(scene: Scene): number;
  draw(marks: Marks, scene: Scene): Drawn;
  /** What the picture is about: where this changes, the former picture fades over the new one. */
  subject?(scene: Scene): string;
  /** What is shown and how it was made, in words: stands on the picture. */
  declared(scene: Scene): string;
  /** What is under the pointer, in words. */
  say?(target: Target, scene: Scene): string;
  table(scene: Scene): Table | null;
  controls?(context: Context): ComponentChildren;
  below?(context: Context): ComponentChildren;
  click?(target: Target, context: Context): void;
  /** True if the key was for this view. */
  key?(key: string, context: Context): boolean;
  drag?(from: Target, to: Target, context: Context): void;
  wheel?(x: number, y: number, turn: number, context: Context): void;
  pan?(dx: number, dy: number, context: Context): void;
  /** How far down a target stands in a picture that scrolls. */
  top?(target: Target, scene: Scene): number | null;
  /** What a fresh viewer shows of this view, where that differs. */
  start?(scene: Scene): Partial<Values>;
}

export const site = (s: Scene): SiteEntry | undefined => s.example.sites[s.values.site];
export const queries = (s: Scene, at?: SiteEntry): AxisEntry => s.example.axes[(at ?? site(s))!.queries]!;
export const keys = (s: Scene, at?: SiteEntry, of: ExampleEntry = s.example): AxisEntry =>
  of.axes[(at ?? site(s))!.keys]!;

/** What an audit said about the model of this example; of another model beside it nothing is known. */
export function ownVerdict(s: Scene): VerdictEntry | null {
  const { model } = s.example;
  const audited = s.manifest.model;
  const own = !model || !audited || model === audited || model.startsWith(`${audited}, `); // ", attention edited"
  return own ? s.manifest.verdict : null;
}

/** A name as it is written on a picture: what cannot be seen is made visible. */
export function shown(name: string | undefined): string {
  if (name === undefined) return "";
  const clean = name.replace(/\n/g, "⏎").replace(/\t/g, "⇥");
  return clean.trim() === "" ? "␣" : clean;
}

export const siteName = (at: SiteEntry, t: Scene["t"]): string =>
  `${t("layer")} ${at.layer}, ${wordFor(t, "kind", at.kind)}`;
export const headName = (at: SiteEntry, h: number): string => `L${at.layer}H${h}`;

/** Short for a weight: three digits that mean something. */
export function number(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 0.001) return value.toFixed(size >= 10 ? 1 : 3);
  return value.toExponential(1);
}
