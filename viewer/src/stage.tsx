/** The canvas of a view: sharp on every screen, scrolled natively, pointed at by mouse and keyboard. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { fadeOver } from "./fade.ts";
import { canvasMarks } from "./marks/canvas.ts";
import type { Target } from "./state.ts";
import type { Context, Drawn, Scene, View } from "./view.ts";

/** Pixels that a picture takes of the page; longer ones scroll. */
const TALLEST = 600;
/** A picture that is only so much taller is shown whole: a scroll bar for a few pixels helps nobody. */
const SLACK = 60;

export function Stage(props: { view: View; c: Context; scene: (width: number) => Scene | null }): ComponentChildren {
  const { view, c } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawn = useRef<Drawn>({});
  const subject = useRef("");
  const width = useSignal(0);
  const { scroll } = c.state;
  const pressed = useRef<{ x: number; y: number; target: Target | null; moved: boolean } | null>(null);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    width.value = element.clientWidth;
    const watch = new ResizeObserver(() => {
      width.value = element.clientWidth;
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const size = { ...c, width: width.value || 640 };
  const tall = Math.ceil(view.height(size));
  const room = tall <= TALLEST + SLACK ? tall : TALLEST;
  useEffect(() => {
    // what a view opens on comes into sight
    const locked = c.state.locked.value;
    const at = locked && tall > room ? (view.top?.(locked, size) ?? 0) : 0;
    scroll.value = Math.max(0, Math.min(tall - room, at - room / 2));
    if (box.current) box.current.scrollTop = scroll.value;
  }, [view.name, c.e]);
  useEffect(() => {
    c.state.room.value = room;
    if (width.value) c.state.width.value = width.value;
  }, [room, width.value]);

  // what was enlarged stands below its row: both come into sight
  const opened = c.state.enlarged.value;
  useEffect(() => {
    const at = opened && view.top?.(opened, size);
    if (box.current && at !== null && at !== undefined) box.current.scrollTop = Math.max(0, at - 24);
  }, [opened]);

  const paint = (): void => {
    const element = canvas.current;
    const scene = props.scene(width.value);
    if (!element || !scene || !width.value) return;
    const ratio = Math.min(3, globalThis.devicePixelRatio || 1);
    const [w, h] = [Math.round(width.value * ratio), Math.round(room * ratio)];
    if (element.width !== w || element.height !== h) {
      element.width = w;
      element.height = h;
      element.style.width = `${width.value}px`;
      element.style.height = `${room}px`;
    }
    const context = element.getContext("2d");
    if (!context) return;
    const now = view.subject?.(scene) ?? "";
    if (now !== subject.current && subject.current && now) fadeOver(element);
    subject.current = now;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = scene.theme.paper;
    context.fillRect(0, 0, width.value, room);
    drawn.current = view.draw(canvasMarks(context), scene);
    element.dataset["drawn"] = String(Number(element.dataset["drawn"] ?? 0) + 1);
  };
  // once per change, whatever changed: state, data, size or scroll; before the next frame, not after it
  useLayoutEffect(paint);

  const point = (event: PointerEvent | WheelEvent | MouseEvent): [number, number] => {
    const at = canvas.current?.getBoundingClientRect();
    return at ? [event.clientX - at.left, event.clientY - at.top] : [0, 0];
  };
  const under = (event: PointerEvent | MouseEvent): Target | null => drawn.current.hit?.(...point(event)) ?? null;
  const same = (a: Target | null, b: Target | null): boolean => JSON.stringify(a) === JSON.stringify(b);

  useEffect(() => {
    const element = canvas.current;
    if (!element || !view.wheel) return;
    const turn = (event: WheelEvent): void => {
      // the page keeps its wheel unless the user works in the picture
      const inside = element.parentElement?.matches(":focus-within, :focus");
      if (!event.ctrlKey && !inside) return;
      event.preventDefault();
      view.wheel?.(...point(event), -Math.sign(event.deltaY), { ...c, width: width.value });
    };
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  });

  const move = (event: PointerEvent): void => {
    const down = pressed.current;
    const [x, y] = point(event);
    if (down && Math.hypot(x - down.x, y - down.y) > 4) down.moved = true;
    if (down?.moved && view.pan) {
      view.pan(x - down.x, y - down.y, { ...c, width: width.value });
      down.x = x;
      down.y = y;
      return;
    }
    const target = under(event);
    if (!same(target, c.state.hover.value)) c.state.hover.value = target;
  };
  const up = (event: PointerEvent): void => {
    const down = pressed.current;
    pressed.current = null;
    if (!down) return;
    const target = under(event);
    if (down.moved) {
      if (view.drag && down.target && target) view.drag(down.target, target, { ...c, width: width.value });
      return;
    }
    if (target && view.click) view.click(target, { ...c, width: width.value });
    else if (!view.click) c.state.locked.value = target && !same(target, c.state.locked.value) ? target : null;
  };
  const key = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      c.state.hover.value = null;
      c.state.locked.value = null;
    } else if (!view.key?.(event.key, { ...c, width: width.value })) return;
    event.preventDefault();
    const wanted = c.state.hover.value ? (view.top?.(c.state.hover.value, size) ?? null) : null;
    const element = box.current;
    if (wanted === null || !element) return;
    if (wanted < element.scrollTop) element.scrollTop = wanted;
    else if (wanted > element.scrollTop + room - 24) element.scrollTop = wanted - room + 24;
  };
  return (
    <>
      <div
        ref={box}
        class="stage"
        role="application"
        aria-roledescription={c.t("picture")}
        aria-label={`${c.t(view.title)}. ${view.declared(c)}`}
        tabIndex={0}
        style={{ height: `${room}px` }}
        onScroll={(e) => {
          scroll.value = e.currentTarget.scrollTop;
        }}
        onKeyDown={key}
      >
        <canvas
          ref={canvas}
          aria-hidden="true"
          onPointerMove={move}
          onPointerDown={(e) => {
            const [x, y] = point(e);
            pressed.current = { x, y, target: under(e), moved: false };
          }}
          onPointerUp={up}
          onPointerLeave={() => {
            pressed.current = null;
            c.state.hover.value = null;
          }}
        />
        {tall > room && <div style={{ height: `${tall - room}px` }} />}
      </div>
      {tall > room && <p class="more">{`↕ ${c.t("scroll_hint")}`}</p>}
    </>
  );
}
