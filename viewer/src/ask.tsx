/** Live hosts: type a text, pick methods, see everything; progress, errors and a way out. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Button, Toggle } from "./parts.tsx";
import { finished, type Job, type Live } from "./source.ts";
import { type Translate, wordFor } from "./words.ts";

export function Ask(props: { live: Live; open: (pack: string) => Promise<void>; t: Translate }): ComponentChildren {
  const { live, t } = props;
  const text = useSignal("");
  const pair = useSignal("");
  const two = useSignal(false);
  const beside = useSignal(false);
  const methods = useSignal<string[]>(live.hello.chosen ?? live.hello.methods.slice(0, 3));
  const job = useSignal<Job | null>(null);
  const problem = useSignal("");
  const stop = useSignal({ wanted: false });
  const busy = job.value !== null;
  const ask = async (): Promise<void> => {
    if (!text.value.trim() || busy) return;
    problem.value = "";
    const mine = { wanted: false };
    stop.value = mine;
    try {
      const body = {
        text: text.value,
        methods: methods.value,
        ...(two.value ? { pair: pair.value } : {}),
        ...(beside.value && live.pack ? { beside: live.pack } : {}),
      };
      const result = await finished<{ pack: string }>(
        live,
        "ask",
        body,
        (now) => {
          job.value = now;
        },
        mine,
        t,
      );
      await props.open(result.pack);
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    } finally {
      job.value = null;
    }
  };
  return (
    <form
      class="ask"
      onSubmit={(e) => {
        e.preventDefault();
        void ask();
      }}
    >
      <input
        type="text"
        aria-label={t("text_label", { model: live.hello.model })}
        placeholder={t("text_placeholder", { model: live.hello.model })}
        value={text.value}
        onInput={(e) => {
          text.value = e.currentTarget.value;
        }}
      />
      {two.value && (
        <input
          type="text"
          aria-label={t("second_text")}
          value={pair.value}
          onInput={(e) => {
            pair.value = e.currentTarget.value;
          }}
        />
      )}
      <Toggle
        label={t("pair")}
        value={two.value}
        pick={(v) => {
          two.value = v;
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
      <details>
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
      <Button click={() => void ask()} off={busy}>
        {t("look")}
      </Button>
      {job.value && (
        <>
          <progress value={job.value.done} max={Math.max(1, job.value.total)} aria-label={t("progress")} />
          <span role="status">{wordFor(t, "stage", job.value.stage)}</span>
          <Button
            click={() => {
              stop.value.wanted = true;
            }}
          >
            {t("cancel")}
          </Button>
        </>
      )}
      {problem.value && (
        <span class="error" role="alert">
          {problem.value}
        </span>
      )}
    </form>
  );
}
