import { signLegend } from "../legend.ts";
import { type Marks, SIZE } from "../marks/marks.ts";
import { rgb } from "../palette.ts";
import { Button, Toggle } from "../parts.tsx";
import { isSplit, largest, type Piece, pieces, showsAttention, worth } from "../units.ts";
import { type Context, number, type Scene, shown, type Table, type View } from "../view.ts";
import { wordFor } from "../words.ts";

const LINE = 23;
const FONT = 14;

const view: View = {
  name: "token_text",
  title: "view_token_text",
  order: 5,
  attention: (s) => showsAttention(s, s.values.methods),
  needs(_, example) {
    if (example.units.place_kind !== "span") return "no_pieces";
    return example.methods.length ? null : "no_method";
  },
  height: (s) => laid(null, s).height + 54,
  draw(m, s) {
    const { theme } = s;
    const { spots, blocks, height } = laid(m, s);
    const values = s.data.relevance(s.e);
    const marked = new Set(s.example.rationale ?? []);
    const pointed = s.values.hover ?? s.values.locked;
    for (const block of blocks) {
      const name = s.example.methods[block.method]!.name;
      m.text(4, block.y - s.scroll, name, { bold: true, fill: theme.ink });
      const top = block.top ? `${s.t("strongest")}: ${number(block.top)}` : "";
      m.text(4 + m.measure(name, SIZE, true) + 10, block.y - s.scroll, top, { fill: theme.soft, size: 11 });
    }
    for (const spot of spots) {
      const y = spot.y - s.scroll;
      if (y < -LINE || y > (s.room || 1e6) + LINE) continue;
      const own = values?.[spot.method];
      const { signed } = s.example.methods[spot.method]!;
      const value = own ? worth(own, spot.piece) : 0;
      const top = blocks.find((b) => b.method === spot.method)?.top || 1;
      if (value) {
        const colour = signed ? (value >= 0 ? theme.plus : theme.minus) : theme.amount;
        m.rect(spot.x - 2, y - 16, spot.w + 4, LINE - 3, {
          fill: rgb(colour),
          alpha: 0.08 + 0.72 * Math.min(1, Math.abs(value) / top),
        });
      }
      if (spot.piece.units.some((u) => marked.has(u)))
        m.line(spot.x, y + 3.5, spot.x + spot.w, y + 3.5, { stroke: theme.ink, width: 1.5, dash: [3, 2] });
      if (pointed?.unit !== undefined && spot.piece.units.includes(pointed.unit))
        m.rect(spot.x - 2, y - 16, spot.w + 4, LINE - 3, { stroke: theme.focus, width: 2 });
      m.text(spot.x, y, spot.text, { size: FONT, fill: spot.piece.special ? theme.soft : theme.ink });
    }
    const bottom = height + 8 - s.scroll;
    signLegend(m, theme, 4, bottom, 1, [s.t("against_answer"), s.t("for_answer_share")], s.width);
    return {
      hit(x, y) {
        const found = spots.find(
          (o) => x >= o.x - 2 && x <= o.x + o.w + 2 && y + s.scroll >= o.y - 16 && y + s.scroll <= o.y + 7,
        );
        return found ? { unit: found.piece.units[0]!, row: found.method } : null;
      },
    };
  },
  declared(s) {
    const level = isSplit(s)
      ? s.values.words
        ? s.t("subwords_summed")
        : s.t("subwords")
      : s.t("one_box_per", { unit: wordFor(s.t, "unit", s.example.units.kind) });
    const marks = s.example.rationale ? `; ${s.t("dashed_rationale")}` : "";
    const no = s.example.methods.every((x) => x.signed) ? "" : `; ${s.t("violet_unsigned")}`;
    const hidden = s.values.hideSpecial && s.example.units.special.some(Boolean) ? `; ${s.t("special_hidden")}` : "";
    return `${level}${hidden}; ${s.t("scaled_per_method")}${no}${marks}`;
  },
  say(target, s) {
    const values = s.data.relevance(s.e);
    if (!values || target.unit === undefined) return "";
    const piece = pieces(s).find((p) => p.units.includes(target.unit!));
    if (!piece) return "";
    const all = s.values.methods.map((i) => `${s.example.methods[i]!.name} ${number(worth(values[i]!, piece))}`);
    return `${shown(piece.name)}: ${all.join(", ")}`;
  },
  table(s): Table | null {
    const values = s.data.relevance(s.e);
    if (!values) return null;
    return {
      caption: s.t("relevance_pieces"),
      columns: [s.t("piece"), ...s.values.methods.map((i) => s.example.methods[i]!.name)],
      rows: pieces(s).map((p) => [
        shown(p.name),
        ...s.values.methods.map((i) => Number(worth(values[i]!, p).toFixed(5))),
      ]),
    };
  },
  controls: (c) => (
    <>
      <MethodChips c={c} />
      {isSplit(c) && (
        <Toggle
          label={c.t("words")}
          value={c.state.words.value}
          pick={(v) => {
            c.state.words.value = v;
          }}
        />
      )}
      {c.example.units.special.some(Boolean) && (
        <Toggle
          label={c.t("hide_special")}
          value={c.state.hideSpecial.value}
          pick={(v) => {
            c.state.hideSpecial.value = v;
          }}
        />
      )}
    </>
  ),
  top: (target, s) => laid(null, s).spots.find((o) => o.piece.units.includes(target.unit ?? -1))?.y ?? null,
  key(key, c) {
    const all = pieces(c);
    const step = key === "ArrowRight" || key === "ArrowDown" ? 1 : key === "ArrowLeft" || key === "ArrowUp" ? -1 : 0;
    if (!step) return false;
    const i = all.findIndex((p) => p.units.includes(c.state.hover.value?.unit ?? -1));
    const next = all[i < 0 ? 0 : Math.min(all.length - 1, Math.max(0, i + step))];
    if (next) c.state.hover.value = { unit: next.units[0]! };
    return true;
  },
  start: () => ({ words: true }),
};
export default view;

export function MethodChips(props: { c: Context }) {
  const { c } = props;
  const on = c.state.methods.value;
  return (
    <span class="chips">
      {c.example.methods.map((x, i) => (
        <Button
          key={x.name}
          pressed={on.includes(i)}
          click={() => {
            c.state.methods.value = on.includes(i) ? on.filter((m) => m !== i) : [...on, i].sort((a, b) => a - b);
          }}
        >
          {x.name}
        </Button>
      ))}
    </span>
  );
}

interface Spot {
  piece: Piece;
  method: number;
  text: string;
  x: number;
  y: number;
  w: number;
}

/** Widths without a canvas are guessed; the height may then be a line more than needed, never less than drawn. */
function laid(
  m: Marks | null,
  s: Scene,
): { spots: Spot[]; blocks: { method: number; y: number; top: number }[]; height: number } {
  const measure = m
    ? (t: string) => m.measure(t, FONT)
    : (t: string) => Array.from(t).reduce((sum, c) => sum + (c > "\u1100" ? 1 : 0.62) * FONT, 0);
  const values = s.data.relevance(s.e);
  const all = pieces(s);
  const spots: Spot[] = [];
  const blocks: { method: number; y: number; top: number }[] = [];
  let y = 18;
  for (const method of s.values.methods) {
    if (!s.example.methods[method]) continue;
    const own = values?.[method];
    blocks.push({ method, y, top: own ? largest(all.map((p) => worth(own, p))) : 0 });
    y += LINE + 2;
    let x = 4;
    let part = all[0]?.part ?? 0;
    for (const piece of all) {
      const text = shown(piece.name);
      const w = measure(text);
      const gap = piece.spaced ? 6 : 1;
      if ((x > 4 && x + gap + w > s.width - 6) || piece.part !== part) {
        x = 4;
        y += LINE;
      } else if (x > 4) x += gap;
      part = piece.part;
      spots.push({ piece, method, text, x, y, w });
      x += w;
    }
    y += LINE + 10;
  }
  return { spots, blocks, height: y };
}
