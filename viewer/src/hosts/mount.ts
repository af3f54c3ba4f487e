/** `mount(element, source, settings)`: the viewer in a shadow root of the element. */

import { h, render } from "preact";
import { type Settings, Viewer } from "../shell.tsx";
import type { Source } from "../source.ts";
import { STYLE } from "../style.ts";

export function mount(element: HTMLElement, source: Source, settings: Settings = {}): { unmount: () => void } {
  const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets = [sheet];
  const inside = document.createElement("div");
  root.replaceChildren(inside);
  render(h(Viewer, { source, settings, element }), inside);
  element.dataset["mounted"] = "";
  return {
    unmount() {
      render(null, inside);
      root.replaceChildren();
    },
  };
}
