/** A value that moves to its goal in less than a fifth of a second, so that the eye can follow; at once if unwanted. */

import type { Signal } from "@preact/signals";

const MILLISECONDS = 160;

export function glide(value: Signal<{ x: number; y: number; scale: number }>, goal: typeof value.value): void {
  const still = typeof matchMedia === "undefined" || matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (still) {
    value.value = goal;
    return;
  }
  const from = value.value;
  let last = from;
  const began = performance.now();
  const step = (now: number): void => {
    if (value.value !== last) return; // the user went elsewhere
    const share = Math.min(1, Math.max(0, (now - began) / MILLISECONDS));
    const eased = 1 - (1 - share) ** 3;
    const scale = from.scale * (goal.scale / from.scale) ** eased;
    // the part in view shrinks or grows evenly: places follow the width of the window
    const [a, b, c] = [1 / from.scale, 1 / goal.scale, 1 / scale];
    const part = a === b ? eased : (a - c) / (a - b);
    last = share === 1 ? goal : { x: from.x + (goal.x - from.x) * part, y: from.y + (goal.y - from.y) * part, scale };
    value.value = last;
    if (share < 1) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}
