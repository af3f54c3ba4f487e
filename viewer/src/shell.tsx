/** The frame around every view: the row of views, controls, the picture, its caveat, its words and its table. */

import { useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Ask } from "./ask.tsx";
import { Data } from "./data.ts";
import { DARK, LIGHT } from "./palette.ts";
import { Button, Choice, DataTable } from "./parts.tsx";
import { initial, ordered } from "./pictures.ts";
import { gunzip, packSource, type Source } from "./source.ts";
import { Stage } from "./stage.tsx";
import { newState, plain, reset, type State, type Values } from "./state.ts";
import { type Context, ownVerdict, type Scene, type View } from "./view.ts";
import { type Dictionary, translator } from "./words.ts";

export interface Settings {
  view?: string;
  views?: string[];
  example?: number;
  theme?: "auto" | "light" | "dark";
  /** The words of another language than English. */
  dictionary?: Dictionary;
  state?: Partial<Values>;
  /** Told whenever the user moved to another example, site or head. */
  changed?: (values: Values) => void;
}

export function possible(source: Source, e: number, only: readonly string[] = []): View[] {
  const example = source.manifest.examples[e];
  if (!example) return [];
  return ordered.filter(
    (v) => (!only.length || only.includes(v.name)) && v.needs(source.manifest, example, !!source.live) === null,
  );
}

export function Viewer(props: { source: Source; settings: Settings; element: HTMLElement }): ComponentChildren {
  const source = useSignal(props.source);
  const version = useSignal(0);
  const { settings } = props;
  const state = useMemo<State>(() => newState({ ...first(props.source, settings), ...settings.state }), [props.source]);
  const data = useMemo(() => dataOf(source.value, () => version.value++), [source.value]);
  const dark = useDark(settings.theme ?? "auto");
  const t = useMemo(() => translator(settings.dictionary), []);
  version.value;
  useSignalEffect(() => settings.changed?.(plain(state)));

  const { manifest } = source.value;
  const shown = possible(source.value, state.example.value, settings.views ?? []);
  const view = shown.find((v) => v.name === state.view.value) ?? shown[0];
  const theme = dark.value ? DARK : LIGHT;
  const example = manifest.examples[state.example.value];
  const refresh = (): void => {
    version.value++;
  };
  const open = async (pack: string): Promise<void> => {
    if (!source.value.live) return;
    const next = await packSource(source.value.live, pack);
    const view = state.view.value;
    reset(state, { ...first(next, { ...settings, view, example: 0 }), view });
    source.value = next;
  };
  const values = plain(state);
  const { scroll, room } = values;
  const scene = (width: number): Scene | null =>
    example ? { manifest, example, e: values.example, data, values, theme, width, scroll, room, t } : null;
  const context = (width: number): Context | null => {
    const base = scene(width);
    return base && { ...base, state, live: source.value.live ?? null, open, refresh };
  };
  const c = context(values.width);
  const start = (v: View): void => {
    state.view.value = v.name;
    state.hover.value = null;
    state.locked.value = null;
    const now = scene(800);
    const more = now && v.start?.(now);
    for (const [name, value] of Object.entries(more ?? {})) {
      (state[name as keyof Values] as { value: unknown }).value = value;
    }
  };
  return (
    <div class={`viewer${dark.value ? " dark" : ""}`}>
      {source.value.live?.hello.can.ask && <Ask live={source.value.live} open={open} t={t} />}
      {manifest.examples.length > 1 && (
        <div class="bar">
          <Choice
            label={t("pick_example")}
            value={state.example.value}
            options={manifest.examples.map((x, i) => [i, `${i}: ${x.title}`])}
            pick={(i) => {
              const { view } = plain(state);
              reset(state, { ...first(source.value, { ...settings, view }, i), view });
            }}
          />
        </div>
      )}
      {example && <Answer c={c!} />}
      <div class="tabs" role="tablist" aria-label={t("views")}>
        {shown.map((v) => (
          <button
            key={v.name}
            type="button"
            role="tab"
            id={`tab-${v.name}`}
            aria-selected={v === view}
            aria-controls="panel"
            tabIndex={v === view ? 0 : -1}
            onClick={() => start(v)}
            onKeyDown={(event) => {
              const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
              const next = step && shown[(shown.indexOf(v) + step + shown.length) % shown.length];
              if (!next) return;
              event.preventDefault();
              start(next);
              const root = event.currentTarget.getRootNode() as ShadowRoot;
              requestAnimationFrame(() => root.getElementById(`tab-${next.name}`)?.focus());
            }}
          >
            {t(v.title)}
          </button>
        ))}
      </div>
      {view && c ? (
        <div role="tabpanel" id="panel" aria-labelledby={`tab-${view.name}`} data-view={view.name}>
          <Panel view={view} c={c} scene={scene} />
        </div>
      ) : (
        <p>{t("nothing_to_draw")}</p>
      )}
      {data.failure && (
        <p class="error" role="alert">
          {data.failure}
        </p>
      )}
      <div class="notes">
        {manifest.left_out.map((line) => (
          <p key={line}>{`${t("left_out")}: ${line}.`}</p>
        ))}
        {manifest.notes.map((line) => (
          <p key={line}>{line}</p>
        ))}
      </div>
    </div>
  );
}

function Answer(props: { c: Context }): ComponentChildren {
  const { example, t } = props.c;
  if (!example.predicted && example.probability === null) return null;
  const sure = example.probability === null ? "" : ` (${example.probability.toFixed(3)})`;
  const label = example.label === null ? "" : `; ${t("label")}: ${example.label}`;
  return (
    <>
      <p class="answer">
        <b>{`${t("answer")}: ${example.predicted || "–"}${sure}`}</b>
        {label}
        {example.model ? ` · ${example.model}` : ""}
      </p>
      {example.trust.map((line) => (
        <p class="trust" key={line}>
          {line}
        </p>
      ))}
    </>
  );
}

function Panel(props: { view: View; c: Context; scene: (width: number) => Scene | null }): ComponentChildren {
  const { view, c } = props;
  const { t, state } = c;
  const target = state.hover.value ?? state.locked.value;
  const table = state.table.value ? view.table(c) : null;
  const said = target && view.say ? view.say(target, c) : "";
  return (
    <>
      <div class="bar">
        {view.controls?.(c)}
        <Button
          click={() =>
            reset(state, {
              ...initial(c.manifest, c.e),
              ...view.start?.(c),
              view: view.name,
            })
          }
        >
          {t("reset")}
        </Button>
      </div>
      <p class="declared" data-declared="">
        {view.declared(c)}
      </p>
      <div class="sides">
        <div>
          <Stage view={view} c={c} scene={props.scene} />
          <p class="readout" data-readout="" aria-live="polite">
            {said || (view.say ? t("pointing_hint") : "")}
          </p>
        </div>
        {view.attention(c) && <Caveat c={c} />}
      </div>
      {view.below?.(c)}
      <details
        open={state.table.value}
        onToggle={(e) => {
          state.table.value = e.currentTarget.open;
        }}
      >
        <summary>{t("as_table")}</summary>
        {table && <DataTable table={table} />}
      </details>
    </>
  );
}

function Caveat(props: { c: Context }): ComponentChildren {
  const { manifest, t } = props.c;
  const v = ownVerdict(props.c);
  return (
    <aside class="caveat" aria-label={t("caveat_title")}>
      {v ? (
        <>
          <p class="verdict">{`${t("audit_says")}: ${v.headline}.`}</p>
          <p>{v.sentence}</p>
          <p>{t("verdict_basis", { a: v.attention, n: v.n })}</p>
        </>
      ) : (
        <p class="verdict">{t("not_audited")}</p>
      )}
      <p>{manifest.caveat}</p>
    </aside>
  );
}

/** What a fresh viewer shows, with what its first view wants besides. */
function first(source: Source, settings: Settings, e = settings.example ?? 0): Values {
  const { manifest } = source;
  const at = manifest.examples[e] ? e : 0;
  const values = initial(manifest, at, settings.view ? { view: settings.view } : {});
  const shown = possible(source, at, settings.views ?? []);
  const view = shown.find((v) => v.name === values.view) ?? shown[0];
  const example = manifest.examples[at];
  if (!view?.start || !example) return values;
  const data = new Data(
    manifest,
    () => new Promise<Uint8Array>(() => {}),
    () => {},
  );
  const t = translator(settings.dictionary);
  return {
    ...values,
    ...view.start({ manifest, example, e: at, data, values, theme: LIGHT, width: 800, scroll: 0, room: 0, t }),
  };
}

function dataOf(source: Source, arrived: () => void): Data {
  let waiting = false;
  return new Data(
    source.manifest,
    async (id) => gunzip(await source.chunk(id)),
    () => {
      // many chunks arrive together: one redraw for all of them
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        arrived();
      });
    },
  );
}

function useDark(theme: "auto" | "light" | "dark"): { value: boolean } {
  const asked = useRef(matchMedia("(prefers-color-scheme: dark)"));
  const dark = useSignal(theme === "auto" ? asked.current.matches : theme === "dark");
  useEffect(() => {
    if (theme !== "auto") return;
    const query = asked.current;
    const change = (): void => {
      dark.value = query.matches;
    };
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, [theme]);
  return dark;
}
