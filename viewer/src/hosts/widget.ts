/** A notebook through anywidget (Jupyter, marimo): requests are messages {id, op, body}, chunks come as buffers. */

import type { Manifest } from "../records.generated.ts";
import type { Hello, Live } from "../source.ts";
import type { Values } from "../state.ts";
import { translator } from "../words.ts";
import { start } from "./server.ts";

interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(message: unknown): void;
  on(event: string, heard: (message: Answer, buffers: (DataView | ArrayBuffer)[]) => void): void;
  off(event: string, heard: (message: Answer, buffers: (DataView | ArrayBuffer)[]) => void): void;
}

interface Answer {
  id?: number;
  answer?: unknown;
  error?: { said?: string };
}

interface Waiting {
  done: (value: { answer: unknown; buffers: (DataView | ArrayBuffer)[] }) => void;
  failed: (reason: Error) => void;
}

async function render({ model, el }: { model: Model; el: HTMLElement }): Promise<() => void> {
  const hello = model.get("hello") as Hello;
  const t = translator(hello.dictionary);
  let last = 0;
  const waiting = new Map<number, Waiting>();
  const heard = (message: Answer, buffers: (DataView | ArrayBuffer)[]): void => {
    const mine = message?.id === undefined ? undefined : waiting.get(message.id);
    if (!mine || message.id === undefined) return;
    waiting.delete(message.id);
    if (message.error) mine.failed(new Error(message.error.said ?? t("kernel_refused")));
    else mine.done({ answer: message.answer, buffers: buffers ?? [] });
  };
  model.on("msg:custom", heard);
  const ask = (op: string, body: Record<string, unknown>) =>
    new Promise<{ answer: unknown; buffers: (DataView | ArrayBuffer)[] }>((done, failed) => {
      const id = ++last;
      waiting.set(id, { done, failed });
      model.send({ id, op, body });
    });
  // a small pack comes along with the widget, so that it is drawn without a kernel too (a saved or exported notebook)
  const manifest = model.get("manifest") as Manifest | null;
  const carried = (model.get("chunks") ?? {}) as Record<string, DataView | ArrayBuffer>;
  const live: Live = {
    hello,
    pack: "",
    call: async (op, body) =>
      op === "manifest" && manifest && body["pack"] === hello.pack ? manifest : (await ask(op, body)).answer,
    chunk: async (pack, id) => {
      const mine = pack === hello.pack ? carried[id] : undefined;
      if (mine) return plainBytes(mine);
      const { buffers } = await ask("chunk", { pack, name: id });
      const first = buffers[0];
      if (!first) throw new Error(t("no_chunk", { id }));
      return plainBytes(first);
    },
  };
  const settings = {
    header: true,
    ...((model.get("settings") as Record<string, unknown> | undefined) ?? {}),
    changed: (values: Values): void => {
      const now = { example: values.example, site: values.site, head: values.head, view: values.view };
      if (JSON.stringify(model.get("selection")) === JSON.stringify(now)) return;
      model.set("selection", now);
      model.save_changes();
    },
  };
  await start(el, { ...live, pack: live.hello.pack ?? "" }, settings);
  return () => model.off("msg:custom", heard);
}

function plainBytes(view: DataView | ArrayBuffer): ArrayBuffer {
  if (view instanceof ArrayBuffer) return view;
  return view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) as ArrayBuffer;
}

export default { render };
