/** The one bundle. In a page it mounts every block it finds; in the local app, the app; a notebook calls `render`. */

import { mountBlocks } from "./page.ts";
import { mountApp } from "./server.ts";
import widget from "./widget.ts";

export { mount } from "./mount.ts";
export { mountBlocks };
export default widget;

if (typeof document !== "undefined") {
  mountBlocks();
  const app = document.querySelector<HTMLElement>("[data-regard-app]");
  if (app) void mountApp(app);
}
