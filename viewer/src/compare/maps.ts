/** A, B and B - A as maps: in a row, in two rows, or one below the other, as the width allows. */

import { amountLegend, LEGEND, signLegend } from "../legend.ts";
import { amountRaster, signRaster } from "../map.ts";
import type { Marks } from "../marks/marks.ts";
import { mapMargins, namedMap } from "../named_map.ts";
import { keys, queries, type Scene } from "../view.ts";
import { pair } from "./pairing.ts";
import { siteA } from "./sides.ts";

const GAP = 34;

interface Frame {
  side: number;
  tall: number;
  above: number;
  left: number;
  /** Maps in a row, and what lies between them. */
  per: number;
  gap: number;
}

function frame(s: Scene): Frame {
  const at = siteA(s);
  const [margin, above] = mapMargins(s, at);
  const per = s.width >= 620 ? 3 : s.width >= 430 ? 2 : 1;
  const [left, gap] = per === 2 ? [Math.min(margin, 68), 16] : [margin, GAP];
  const side = Math.min((s.width - left - (per - 1) * gap - (per === 2 ? 10 : 30)) / per, 320);
  return { side, tall: at.rows === 1 ? 40 : side, above, left, per, gap };
}

/** Height of one row of maps with its title. */
const band = (f: Frame): number => f.tall + f.above + 28;

export function mapsHeight(s: Scene): number {
  const f = frame(s);
  return Math.ceil(3 / f.per) * (band(f) + (f.per < 3 ? LEGEND : 0)) + (f.per < 3 ? 12 : LEGEND + 12);
}

export function maps(m: Marks, s: Scene) {
  const { theme } = s;
  const f = frame(s);
  const found = pair(s);
  if (!found) {
    m.text(10, 30, s.t("loading"), { fill: theme.soft });
    return {};
  }
  const at = siteA(s);
  const top = Math.max(found.a.top, found.own.top);
  const axes: [ReturnType<typeof queries>, ReturnType<typeof keys>] = [queries(s, at), keys(s, at)];
  const rasters = [
    amountRaster(found.a, theme, top),
    amountRaster(found.b, theme, top),
    signRaster(found.difference, theme),
  ];
  const [w, h] = [f.side / found.a.columns, f.tall / found.a.rows];
  const grey = theme.dark ? "#2b2e35" : "#e6e7ea";
  const spots = ["A", "B", "B − A"].map((title, i) => {
    const [row, column] = [Math.floor(i / f.per), i % f.per];
    const x = f.left + column * (f.side + f.gap);
    const y = row * (band(f) + LEGEND) + f.above + 18 - s.scroll;
    m.text(x, y - f.above - 4, title, { bold: true, fill: theme.ink });
    namedMap(m, s, at, rasters[i]!, x, y, f.side, f.tall, axes, column === 0);
    if (i > 0) {
      found.rows.forEach((to, r) => {
        if (to < 0) m.rect(x, y + r * h, f.side, h, { fill: grey });
      });
      found.columns.forEach((to, c) => {
        if (to < 0) m.rect(x + c * w, y, w, f.tall, { fill: grey });
      });
    }
    return { x, y };
  });
  const p = s.values.hover;
  if (p?.query !== undefined && p.key !== undefined)
    for (const spot of spots) {
      const [wide, high] = [f.side / at.columns, f.tall / at.rows];
      m.rect(spot.x + p.key * wide, spot.y + p.query * high, Math.max(3, wide), Math.max(3, high), {
        stroke: theme.focus,
        width: 2,
      });
    }
  const under = (i: number): number => spots[i]!.y + f.tall + 10;
  const room = f.per === 3 ? spots[2]!.x - 8 : s.width;
  const signs: [string, string] = [s.t("less_in_b"), s.t("more")];
  amountLegend(m, theme, spots[0]!.x, under(f.per === 1 ? 1 : 0), top, s.t("one_scale"), room);
  signLegend(m, theme, Math.min(spots[2]!.x, s.width - 128), under(2), found.difference.top, signs, s.width);
  return {
    hit(x: number, y: number) {
      for (const spot of spots) {
        const [key, query] = [
          Math.floor(((x - spot.x) / f.side) * at.columns),
          Math.floor(((y - spot.y) / f.tall) * at.rows),
        ];
        if (key >= 0 && query >= 0 && key < at.columns && query < at.rows) return { query, key };
      }
      return null;
    },
  };
}
