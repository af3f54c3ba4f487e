import { fitted, type Marks, wrapped } from "../marks/marks.ts";
import { rgb } from "../palette.ts";
import { largest } from "../units.ts";
import { number, type Scene, shown } from "../view.ts";
import { relevances } from "./pairing.ts";
import { method, rightExample } from "./sides.ts";

const ROW = 20;

export const barsHeight = (s: Scene): number => 30 + ROW * (s.example.units.names.length + 1) + 30;

/** Relevances side by side, a row per unit. */
export function bars(m: Marks, s: Scene) {
  const { theme } = s;
  const found = relevances(s);
  if (!found) return {};
  const u = s.example.units;
  const name = Math.min(150, s.width * 0.25);
  const gap = Array.from(found.a, (x, i) => (found.b[i]! || 0) - x);
  const top = Math.max(largest(found.a), largest(Array.from(found.b, (x) => x || 0)), largest(gap));
  const signed = [s.example.methods[method(s, 0)]!.signed, rightExample(s).methods[method(s, 1)]!.signed, true];
  // one length is one number in all three: what has two directions gets twice the room
  const room = signed.map((both) => (both ? 2 : 1));
  const unit = (s.width - name - 20) / room.reduce((a, b) => a + b, 0);
  const from = room.map((_, j) => name + unit * room.slice(0, j).reduce((a, b) => a + b, 0));
  const reach = unit - 8;
  ["A", "B", "B − A"].forEach((title, j) =>
    m.text(from[j]! + (unit * room[j]!) / 2, 14 - s.scroll, title, { align: "middle", bold: true, fill: theme.ink }),
  );
  u.names.forEach((called, i) => {
    const y = 24 + i * ROW - s.scroll;
    if (y < -ROW || y > (s.room || 1e6)) return;
    const lit = s.values.hover?.unit === i;
    m.text(name - 6, y + 14, fitted(m, shown(called), name - 10), {
      align: "end",
      bold: lit,
      fill: u.special[i] ? theme.soft : theme.ink,
    });
    [found.a[i]!, found.b[i]!, gap[i]!].forEach((v, j) => {
      const zero = from[j]! + (signed[j] ? unit : 4);
      if (Number.isNaN(v)) {
        m.text(zero, y + 14, "–", { fill: theme.soft });
        return;
      }
      const w = (reach * Math.abs(v)) / (top || 1);
      const colour = signed[j] ? (v >= 0 ? theme.plus : theme.minus) : theme.amount;
      m.rect(v < 0 ? zero - w : zero, y + 3, Math.max(0.5, Math.min(w, reach)), ROW - 6, {
        fill: rgb(colour),
        ...(lit ? { stroke: theme.focus } : {}),
      });
      m.line(zero, y, zero, y + ROW, { stroke: theme.line });
    });
  });
  const what = s.t("bar_lengths", { x: number(top) });
  wrapped(m.measure, what, s.width - 16, 11).forEach((line, i) =>
    m.text(8, 24 + (u.names.length + 0.8) * ROW + 14 * i - s.scroll, line, { fill: theme.soft, size: 11 }),
  );
  return {
    hit(_x: number, y: number) {
      const i = Math.floor((y + s.scroll - 24) / ROW);
      return i >= 0 && i < u.names.length ? { unit: i } : null;
    },
  };
}
