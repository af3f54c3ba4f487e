/** One question to a live model at a time: what was typed, how far the job is, and what arrived of it so far. */

import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ExampleEntry } from "./records.generated.ts";
import { finished, type Job, type Live } from "./source.ts";
import type { Translate } from "./words.ts";

export interface Texts {
  text: string;
  /** Null where there is no second text. */
  pair: string | null;
}

export interface Asking {
  typed: Signal<Texts>;
  beside: Signal<boolean>;
  methods: Signal<string[]>;
  job: Signal<Job | null>;
  problem: Signal<string>;
  /** What a cancellation left. */
  notice: Signal<string>;
  /** Whether the results on the screen belong to another text than the one in the box. */
  stale: boolean;
  ask(): Promise<void>;
  cancel(): void;
}

/** Shows a pack; `grows`: the same answer as before with more of its methods. */
export type Open = (pack: string, grows?: boolean) => Promise<void>;

const same = (a: Texts | null, b: Texts | null): boolean => a?.text === b?.text && (a?.pair ?? "") === (b?.pair ?? "");

export function useAsking(live: Live | null, example: ExampleEntry | undefined, open: Open, t: Translate): Asking {
  const began = live?.hello.began;
  const own: Texts | null = example ? { text: example.text ?? "", pair: example.text_pair } : null;
  const first: Texts = began ? { text: began.text ?? "", pair: began.text_pair } : { text: "", pair: null };
  const typed = useSignal<Texts>(own ?? first);
  const beside = useSignal(false);
  const methods = useSignal<string[]>(live?.hello.chosen ?? live?.hello.methods.slice(0, 3) ?? []);
  const job = useSignal<Job | null>(null);
  const problem = useSignal("");
  const notice = useSignal("");
  const stop = useRef({ wanted: false });
  /** The whole text of a pack that was asked for here; its windows hold parts of it. */
  const asked = useRef<{ pack: string; texts: Texts } | null>(null);
  const seen = useRef<Texts | null>(own);

  const shown = asked.current && asked.current.pack === live?.pack ? asked.current.texts : own;
  useEffect(() => {
    // the box follows what is shown, unless somebody is typing in it
    if (shown && same(typed.value, seen.current)) typed.value = shown;
    seen.current = shown;
  }, [shown?.text, shown?.pair]);

  const follow = async (op: string, body: Record<string, unknown>, texts: Texts): Promise<void> => {
    if (!live) return;
    const mine = { wanted: false };
    stop.current = mine;
    problem.value = "";
    notice.value = "";
    let arrived = "";
    let waiting: readonly string[] = [];
    let opening: Promise<void> = Promise.resolve();
    const show = (pack: string): Promise<void> => {
      const grows = arrived !== "";
      arrived = pack;
      asked.current = { pack, texts };
      return open(pack, grows);
    };
    try {
      const told = (now: Job): void => {
        job.value = now;
        const part = now.partial;
        if (!part || part.pack === arrived || now.state === "done") return;
        waiting = part.waiting;
        const { pack } = part;
        // a newer one may have taken its place meanwhile: that one comes next
        opening = opening.then(() => show(pack)).catch(() => {});
      };
      const result = await finished<{ pack: string }>(live, op, body, told, mine, t);
      await opening;
      await show(result.pack);
    } catch (error) {
      await opening;
      if (mine.wanted && arrived) notice.value = t("cancelled_kept", { x: waiting.join(", ") || "–" });
      else problem.value = error instanceof Error ? error.message : String(error);
    } finally {
      job.value = null;
    }
  };
  useEffect(() => {
    if (began) void follow("job", { job: began.job }, first);
  }, []);

  const ask = async (): Promise<void> => {
    const { text, pair } = typed.value;
    if (!live || !text.trim() || job.value) return;
    const body = {
      text,
      methods: methods.value,
      ...(pair === null ? {} : { pair }),
      ...(beside.value && live.pack ? { beside: live.pack } : {}),
    };
    await follow("ask", body, { text, pair });
  };
  const cancel = (): void => {
    stop.current.wanted = true;
  };
  const stale = !!live?.hello.can.ask && shown !== null && !same(typed.value, shown);
  return useMemo(
    () => ({ typed, beside, methods, job, problem, notice, stale, ask, cancel }),
    [live, stale, typed.value, t],
  );
}
