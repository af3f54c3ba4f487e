/** The former picture fades over the new one in less than a fifth of a second, so that the eye can follow. */

const MILLISECONDS = 160;

/** Call before the canvas is drawn anew. Nothing happens for users who prefer reduced motion. */
export function fadeOver(canvas: HTMLCanvasElement): void {
  const box = canvas.parentElement;
  const still = typeof matchMedia === "undefined" || matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (still || !box || !canvas.width || !canvas.height) return;
  for (const old of box.querySelectorAll("[data-former]")) old.remove();
  const copy = canvas.cloneNode() as HTMLCanvasElement;
  copy.getContext("2d")?.drawImage(canvas, 0, 0);
  const former = document.createElement("div");
  former.dataset["former"] = "";
  former.setAttribute("aria-hidden", "true");
  former.attachShadow({ mode: "closed" }).append(copy); // the page has one picture, also for those who look for it
  Object.assign(former.style, {
    position: "absolute",
    top: `${box.scrollTop}px`,
    left: `${box.scrollLeft}px`,
    pointerEvents: "none",
  });
  box.append(former);
  const end = (): void => former.remove();
  former.animate([{ opacity: 1 }, { opacity: 0 }], MILLISECONDS).finished.then(end, end);
}
