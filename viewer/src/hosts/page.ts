/** A self-contained page: manifest and chunks stand in data blocks beside the viewer. */

import type { Manifest } from "../records.generated.ts";
import type { Settings } from "../shell.tsx";
import type { Source } from "../source.ts";
import { translator } from "../words.ts";
import { mount } from "./mount.ts";

export function mountBlocks(): void {
  for (const element of document.querySelectorAll<HTMLElement>("[data-regard-viewer]:not([data-mounted])")) {
    const manifest = JSON.parse(element.querySelector("[data-manifest]")?.textContent ?? "null") as Manifest | null;
    if (!manifest) continue;
    const settings = JSON.parse(element.querySelector("[data-settings]")?.textContent ?? "{}") as Settings;
    const blocks = new Map<string, Element>();
    for (const block of element.querySelectorAll("[data-chunk]"))
      blocks.set(block.getAttribute("data-chunk") ?? "", block);
    const source: Source = {
      manifest,
      chunk: async (id) => {
        const block = blocks.get(id);
        if (!block) throw new Error(translator(settings.dictionary)("no_chunk", { id }));
        return fromBase64(block.textContent ?? "");
      },
    };
    mount(element, source, settings);
  }
}

export function fromBase64(text: string): ArrayBuffer {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, text).buffer;
  const letters = atob(text);
  const out = new Uint8Array(letters.length);
  for (let i = 0; i < out.length; i++) out[i] = letters.charCodeAt(i);
  return out.buffer;
}
