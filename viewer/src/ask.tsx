/** Live hosts: the text that is shown, to be changed; methods, progress, errors and a way out. */

import type { ComponentChildren } from "preact";
import type { Asking } from "./asking.ts";
import { Button, Toggle } from "./parts.tsx";
import type { Live } from "./source.ts";
import { type Translate, wordFor } from "./words.ts";

export function Ask(props: { live: Live; asking: Asking; t: Translate }): ComponentChildren {
  const { live, asking, t } = props;
  const { typed, beside, methods, job, problem, notice } = asking;
  const box = (label: string, value: string, put: (text: string) => void): ComponentChildren => (
    <textarea
      rows={2}
      aria-label={label}
      placeholder={t("text_placeholder", { model: live.hello.model })}
      value={value}
      onInput={(e) => put(e.currentTarget.value)}
      onKeyDown={(e) => {
        if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey)) return;
        e.preventDefault();
        void asking.ask();
      }}
    />
  );
  const { text, pair } = typed.value;
  return (
    <form
      class="ask"
      onSubmit={(e) => {
        e.preventDefault();
        void asking.ask();
      }}
    >
      {box(t("text_label", { model: live.hello.model }), text, (v) => {
        typed.value = { text: v, pair };
      })}
      {pair !== null &&
        box(t("second_text"), pair, (v) => {
          typed.value = { text, pair: v };
        })}
      <div class="bar">
        <button type="submit" class="main" title={t("look_hint")} disabled={job.value !== null}>
          {t("look")}
        </button>
        <Toggle
          label={t("pair")}
          value={pair !== null}
          pick={(on) => {
            typed.value = { text, pair: on ? "" : null };
          }}
        />
        {live.pack && (
          <Toggle
            label={t("beside_text")}
            value={beside.value}
            pick={(v) => {
              beside.value = v;
            }}
          />
        )}
        <details class="methods">
          <summary>{t("methods_count", { n: methods.value.length })}</summary>
          <div class="chips">
            {live.hello.methods.map((name) => (
              <Button
                key={name}
                pressed={methods.value.includes(name)}
                click={() => {
                  const there = methods.value.includes(name);
                  methods.value = there ? methods.value.filter((m) => m !== name) : [...methods.value, name];
                }}
              >
                {name}
              </Button>
            ))}
          </div>
        </details>
        {job.value && (
          <>
            <progress value={job.value.done} max={Math.max(1, job.value.total)} aria-label={t("progress")} />
            <span role="status">{wordFor(t, "stage", job.value.stage)}</span>
            <Button click={asking.cancel}>{t("cancel")}</Button>
            {job.value.partial && job.value.partial.waiting.length > 0 && (
              <span class="soft">{t("still_to_come", { x: job.value.partial.waiting.join(", ") })}</span>
            )}
          </>
        )}
        {notice.value && (
          <span class="notice" role="status">
            {notice.value}
          </span>
        )}
        {problem.value && (
          <span class="error" role="alert">
            {problem.value}
          </span>
        )}
      </div>
    </form>
  );
}
