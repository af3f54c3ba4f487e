/** The frame around every view: the row of views, controls, the picture, its caveat, its words and its table. */

import { useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Answer } from "./answer.tsx";
import { Ask } from "./ask.tsx";
import { type Open, useAsking } from "./asking.ts";
import { Data } from "./data.ts";
import { Header, type ThemeName } from "./header.tsx";
import { DARK, LIGHT } from "./palette.ts";
import { Button, Choice, DataTable } from "./parts.tsx";
import { initial, ordered } from "./pictures.ts";
import type { Manifest } from "./records.generated.ts";
import { gunzip, packSource, type Source } from "./source.ts";
import { Stage } from "./stage.tsx";
import { newState, plain, reset, type State, type Values } from "./state.ts";
import { type Context, ownVerdict, type Scene, type View } from "./view.ts";
import { type Dictionary, translator } from "./words.ts";

export interface Settings {
  view?: string;
  views?: string[];
  example?: number;
  theme?: ThemeName;
  /** The words of another language than English. */
  dictionary?: Dictionary;
  state?: Partial<Values>;
  /** Live hosts: the name of the model, help, theme and language stand above. */
  header?: boolean;
  /** The local app: theme and language are those of the whole page. */
  page?: boolean;
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
  const older = useRef<Data | null>(null);
  const data = useMemo(() => dataOf(source.value, () => version.value++, older.current), [source.value]);
  const chosenTheme = useSignal<ThemeName>(settings.theme ?? "auto");
  const dark = useDark(chosenTheme.value);
  const spoken = useSignal({ lang: source.value.live?.hello.lang ?? "", words: settings.dictionary });
  const t = useMemo(() => translator(spoken.value.words), [spoken.value]);
  version.value;
  useSignalEffect(() => settings.changed?.(plain(state)));
  useEffect(() => {
    if (settings.page) dressPage(chosenTheme.value, spoken.value.lang);
  }, [chosenTheme.value, spoken.value.lang]);

  const { manifest } = source.value;
  const live = source.value.live ?? null;
  const example = manifest.examples[state.example.value];
  const open: Open = async (pack, grows = false) => {
    if (!source.value.live) return;
    const before = source.value.manifest;
    const next = await packSource(source.value.live, pack);
    const view = state.view.value;
    older.current = grows ? latest.current : null;
    if (grows && sameSites(before, next.manifest, state.example.value)) {
      // what the user picked meanwhile stays; new methods join the picture
      const known = before.examples[state.example.value]?.methods.length ?? 0;
      const all = next.manifest.examples[state.example.value]?.methods ?? [];
      state.methods.value = [...state.methods.value, ...all.map((_, i) => i).filter((i) => i >= known)];
    } else reset(state, { ...first(next, { ...settings, view, example: 0 }), view, table: state.table.value });
    source.value = next;
  };
  const latest = useRef(data);
  latest.current = data;
  const speak = async (lang: string): Promise<void> => {
    if (!live) return;
    const answer = (await live.call("language", { lang, ...(live.pack ? { pack: live.pack } : {}) })) as {
      dictionary: Dictionary;
    };
    spoken.value = { lang, words: answer.dictionary };
    if (live.pack) await open(live.pack, true);
  };
  const asking = useAsking(live, example, open, t);
  const running = asking.job.value !== null;
  const shown = possible(source.value, state.example.value, settings.views ?? []);
  // a view that the user was looking at keeps its tab while its data are on their way
  const wanted = running ? ordered.find((v) => v.name === state.view.value && !shown.includes(v)) : undefined;
  const tabs = wanted ? ordered.filter((v) => v === wanted || shown.includes(v)) : shown;
  const view = wanted ?? shown.find((v) => v.name === state.view.value) ?? shown[0];
  const theme = dark.value ? DARK : LIGHT;
  const refresh = (): void => {
    version.value++;
  };
  const values = plain(state);
  const { scroll, room } = values;
  const scene = (width: number): Scene | null =>
    example ? { manifest, example, e: values.example, data, values, theme, width, scroll, room, t } : null;
  const context = (width: number): Context | null => {
    const base = scene(width);
    return base && { ...base, state, live, open, refresh };
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
    <div class={`viewer${dark.value ? " dark" : ""}${asking.stale ? " stale" : ""}`}>
      {settings.header && live && (
        <Header
          hello={live.hello}
          page={!!settings.page}
          theme={chosenTheme.value}
          light={(name) => {
            chosenTheme.value = name;
          }}
          lang={spoken.value.lang}
          speak={(lang) => void speak(lang)}
          t={t}
        />
      )}
      {live?.hello.can.ask && <Ask live={live} asking={asking} t={t} />}
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
      {asking.stale && (
        <p class="old" role="status">
          {t(running ? "stale_running" : "stale_typed")}
        </p>
      )}
      {example && <Answer c={c!} named={!!settings.header} />}
      <div class="tabs" role="tablist" aria-label={t("views")}>
        {tabs.map((v) => (
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
              const next = step && tabs[(tabs.indexOf(v) + step + tabs.length) % tabs.length];
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
        <div role="tabpanel" id="panel" aria-labelledby={`tab-${view.name}`} data-view={view.name} key={view.name}>
          {view === wanted ? (
            <p class="soft">{t("waiting_view", { view: t(view.title) })}</p>
          ) : (
            <Panel view={view} c={c} scene={scene} />
          )}
        </div>
      ) : running ? null : (
        <p>{t(example || !live?.hello.can.ask ? "nothing_to_draw" : "type_to_begin")}</p>
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

/** Whether two packs hold the same attention of an example. */
const sameSites = (a: Manifest, b: Manifest, e: number): boolean =>
  JSON.stringify(a.examples[e]?.sites) === JSON.stringify(b.examples[e]?.sites);

/** The page around the app follows the theme and the language that the user picked. */
function dressPage(theme: ThemeName, lang: string): void {
  const root = document.documentElement;
  root.style.colorScheme = theme === "auto" ? "" : theme;
  if (lang) root.lang = lang;
}

function dataOf(source: Source, arrived: () => void, older: Data | null): Data {
  let waiting = false;
  const data = new Data(
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
  if (older) data.inherit(older);
  return data;
}

function useDark(theme: ThemeName): { value: boolean } {
  const asked = useRef(matchMedia("(prefers-color-scheme: dark)"));
  const dark = useSignal(theme === "auto" ? asked.current.matches : theme === "dark");
  useEffect(() => {
    const query = asked.current;
    dark.value = theme === "auto" ? query.matches : theme === "dark";
    if (theme !== "auto") return;
    const change = (): void => {
      dark.value = query.matches;
    };
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, [theme]);
  return dark;
}
