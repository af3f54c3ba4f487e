import { amountLegend } from "../legend.ts";
import { amountRaster, byteRaster } from "../map.ts";
import { fitted } from "../marks/marks.ts";
import { mapMargins, namedMap } from "../named_map.ts";
import { Button, Choice } from "../parts.tsx";
import type { HeadEntry } from "../records.generated.ts";
import { headName, number, type Scene, siteName, type Table, type View } from "../view.ts";
import { wordFor } from "../words.ts";

interface Thumb {
  site: number;
  head: number;
  x: number;
  y: number;
}

const LARGE = 330;
/** The height of what opens below the row of an enlarged head. */
const OPEN = LARGE + 74;

const view: View = {
  name: "model_view",
  title: "view_model_view",
  order: 2,
  attention: () => true,
  needs: (_, example) => (example.sites.length ? null : "no_attention"),
  height(s) {
    const { thumbs, size, below } = laid(s);
    const end = thumbs.reduce((top, t) => Math.max(top, t.y), 0) + size + 26;
    return Math.max(end, below === null ? 0 : below + OPEN);
  },
  draw(m, s) {
    const { thumbs, size, left, below } = laid(s);
    const { theme } = s;
    const sorted = s.values.order !== "model";
    const pointed = s.values.hover;
    if (!sorted) {
      const columns = Math.max(...s.example.sites.map((x) => x.heads));
      for (let h = 0; h < columns; h++)
        m.text(left + h * (size + 6) + size / 2, 14 - s.scroll, String(h), {
          align: "middle",
          fill: theme.soft,
          size: 11,
        });
      m.text(4, 14 - s.scroll, s.t("layer_head"), { fill: theme.soft, size: 11 });
    }
    for (const t of thumbs) {
      const at = s.example.sites[t.site]!;
      const small = s.data.thumb(s.e, t.site, t.head);
      const y = t.y - s.scroll;
      if (y > (s.room || 1e6) || y + size < -20) continue;
      if (small)
        m.raster(
          t.x,
          y,
          size,
          size,
          byteRaster(s.data.chunk(`${s.e}/thumbs`)!, small.bytes, small.rows, small.columns, theme),
        );
      const lit = pointed?.site === t.site && pointed.head === t.head;
      const open = s.values.enlarged?.site === t.site && s.values.enlarged.head === t.head;
      m.rect(t.x - 0.5, y - 0.5, size + 1, size + 1, {
        stroke: lit || open ? theme.focus : theme.line,
        width: lit || open ? 2 : 1,
      });
      if (!sorted && t.head === 0)
        m.text(left - 6, y + size / 2 + 4, fitted(m, `${at.layer} ${wordFor(s.t, "kind", at.kind)}`, left - 8, 11), {
          align: "end",
          size: 11,
          fill: theme.ink,
        });
      if (sorted) m.text(t.x, y + size + 11, fitted(m, caption(s, t), size + 4, 10), { size: 10, fill: theme.ink });
    }
    const chosen = s.values.enlarged;
    if (chosen && below !== null) enlarged(m, s, chosen, below + 14 - s.scroll);
    return {
      hit(x, y) {
        const t = thumbs.find((o) => x >= o.x && x <= o.x + size && y + s.scroll >= o.y && y + s.scroll <= o.y + size);
        return t ? { site: t.site, head: t.head } : null;
      },
    };
  },
  declared(s) {
    const heads = s.example.sites.reduce((sum, x) => sum + x.heads, 0);
    const order = {
      model: s.t("rows_layers"),
      role: s.t("sorted_role"),
      importance: s.t("sorted_importance"),
    }[s.values.order];
    return `${s.t("heads_of_layers", { n: heads, m: s.example.sites.length })}; ${order}; ${s.t("thumbnails_legend")}`;
  },
  say(target, s) {
    if (target.site === undefined || target.head === undefined) return "";
    const at = s.example.sites[target.site]!;
    const found = entry(s, target.site, target.head);
    const role = found ? ` · ${found.role || s.t("no_role")}${drop(s, found)}` : "";
    return `${headName(at, target.head)} (${siteName(at, s.t)}): ${s.t("largest_weight")} ${number(at.tops[target.head] ?? 0)}${role}`;
  },
  table(s): Table {
    const rows = laid(s).thumbs.map((t) => {
      const at = s.example.sites[t.site]!;
      const found = entry(s, t.site, t.head);
      return [
        headName(at, t.head),
        at.key,
        number(at.tops[t.head] ?? 0),
        found?.role ?? "",
        found?.drop ? number(found.drop.estimate) : "",
      ];
    });
    return {
      caption: s.t("heads_in_order"),
      columns: [s.t("head"), s.t("site"), s.t("largest_weight"), s.t("role"), s.t("drop")],
      rows,
    };
  },
  controls: (c) => (
    <>
      {c.manifest.atlas && (
        <Choice
          label={c.t("pick_order")}
          value={c.state.order.value}
          options={[
            ["model", c.t("order_model")],
            ["role", c.t("order_role")],
            ["importance", c.t("order_importance")],
          ]}
          pick={(v) => {
            c.state.order.value = v;
          }}
        />
      )}
      {c.state.enlarged.value && (
        <>
          <Button
            click={() => {
              const { site, head } = c.state.enlarged.value!;
              c.state.site.value = site;
              c.state.head.value = head;
              c.state.pool.value = "one";
              c.state.layers.value = "one";
              c.state.view.value = "heat_map";
            }}
          >
            {c.t("open_heat_map")}
          </Button>
          <Button
            click={() => {
              c.state.enlarged.value = null;
            }}
          >
            {c.t("close")}
          </Button>
        </>
      )}
    </>
  ),
  click(target, c) {
    const old = c.state.enlarged.value;
    const same = old?.site === target.site && old?.head === target.head;
    c.state.enlarged.value = same ? null : { site: target.site ?? 0, head: target.head ?? 0 };
  },
  top: (target, s) => laid(s).thumbs.find((t) => t.site === target.site && t.head === target.head)?.y ?? null,
  key(key, c) {
    const { thumbs, columns } = laid(c);
    const old = c.state.hover.value;
    const i = thumbs.findIndex((t) => t.site === old?.site && t.head === old?.head);
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[key];
    if (key === "Enter" || key === " ") {
      if (old) view.click?.(old, c);
    } else if (step) {
      const next = thumbs[i < 0 ? 0 : Math.min(thumbs.length - 1, Math.max(0, i + step))];
      if (next) c.state.hover.value = { site: next.site, head: next.head };
    } else return false;
    return true;
  },
};
export default view;

function entry(s: Scene, site: number, head: number): HeadEntry | undefined {
  const key = s.example.sites[site]!.key;
  return s.manifest.atlas?.heads.find((h) => h.site === key && h.number === head);
}

const drop = (s: Scene, h: HeadEntry): string =>
  h.drop ? `, ${s.t("drop")} ${number(h.drop.estimate)} (n = ${h.drop.n})` : "";

function caption(s: Scene, t: { site: number; head: number }): string {
  const found = entry(s, t.site, t.head);
  const name = headName(s.example.sites[t.site]!, t.head);
  if (!found) return name;
  return s.values.order === "role"
    ? `${name} ${found.role || "–"}`
    : `${name} ${found.drop ? number(found.drop.estimate) : "–"}`;
}

interface Laid {
  thumbs: Thumb[];
  size: number;
  left: number;
  columns: number;
  /** Where an enlarged head is drawn: below its row. */
  below: number | null;
}

function laid(s: Scene): Laid {
  const found = { ...placed(s), below: null };
  const open = s.values.enlarged;
  const row = found.thumbs.find((t) => t.site === open?.site && t.head === open.head)?.y;
  if (row === undefined) return found;
  const thumbs = found.thumbs.map((t) => (t.y > row ? { ...t, y: t.y + OPEN } : t));
  return { ...found, thumbs, below: row + found.size + (found.left < 8 ? 14 : 0) };
}

/** Every head in its order, nothing enlarged. */
function placed(s: Scene): Omit<Laid, "below"> {
  const most = Math.max(...s.example.sites.map((x) => x.heads));
  const all: { site: number; head: number }[] = [];
  s.example.sites.forEach((x, site) => {
    for (let head = 0; head < x.heads; head++) all.push({ site, head });
  });
  if (s.values.order === "model" || !s.manifest.atlas) {
    const left = Math.min(92, s.width * 0.2);
    const size = Math.max(16, Math.min(most > 6 ? 64 : 96, (s.width - left - 8) / most - 6));
    const columns = most;
    return {
      size,
      left,
      columns,
      thumbs: all.map((t) => ({ ...t, x: left + t.head * (size + 6), y: 22 + t.site * (size + 6) })),
    };
  }
  const worth = (t: { site: number; head: number }): number => entry(s, t.site, t.head)?.drop?.estimate ?? -1e9;
  const role = (t: { site: number; head: number }): string => entry(s, t.site, t.head)?.role || "\uffff";
  const sorted = all.sort((a, b) =>
    s.values.order === "role" ? role(a).localeCompare(role(b)) || worth(b) - worth(a) : worth(b) - worth(a),
  );
  // wide enough for the name and role of a head below it
  const columns = Math.max(1, Math.floor((s.width - 8) / 118));
  const size = Math.floor((s.width - 8) / columns) - 10;
  return {
    size,
    left: 4,
    columns,
    thumbs: sorted.map((t, i) => ({
      ...t,
      x: 4 + (i % columns) * (size + 10),
      y: 8 + Math.floor(i / columns) * (size + 22),
    })),
  };
}

function enlarged(m: Parameters<View["draw"]>[0], s: Scene, chosen: { site: number; head: number }, y: number): void {
  const at = s.example.sites[chosen.site]!;
  const grid = s.data.head(s.e, chosen.site, chosen.head);
  const { theme } = s;
  m.text(4, y + 4, `${headName(at, chosen.head)}: ${siteName(at, s.t)}`, { bold: true, fill: theme.ink });
  if (!grid) {
    m.text(4, y + 24, s.t("loading"), { fill: theme.soft });
    return;
  }
  const [left, above] = mapMargins(s, at);
  const side = Math.min(LARGE - above, s.width - left - 8);
  namedMap(m, s, at, amountRaster(grid, theme), left, y + 10 + above, side, side);
  amountLegend(m, theme, left, y + 18 + above + side, grid.top, s.t("weight_root"), s.width);
}
