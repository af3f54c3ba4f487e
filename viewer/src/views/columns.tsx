import { signLegend } from "../legend.ts";
import { fitted } from "../marks/marks.ts";
import { rgb } from "../palette.ts";
import { Choice } from "../parts.tsx";
import { largest, showsAttention } from "../units.ts";
import { number, type Scene, shown, type Table, type View } from "../view.ts";

const STEP = 19;
const MOST = 40;

/** Which method the bars are of. */
const chosen = (s: Scene): number =>
  s.values.methods.includes(s.values.otherMethod) ? s.values.otherMethod : (s.values.methods[0] ?? 0);

const view: View = {
  name: "columns",
  title: "view_columns",
  order: 5,
  attention: (s) => showsAttention(s, [chosen(s)]),
  needs(_, example) {
    if (example.units.place_kind !== "column") return "no_columns";
    return example.methods.length ? null : "no_method";
  },
  height: (s) => 10 + STEP * Math.min(MOST, free(s).length) + 40,
  draw(m, s) {
    const { theme } = s;
    const values = s.data.relevance(s.e)?.[chosen(s)];
    if (!values) return {};
    const { signed } = s.example.methods[chosen(s)]!;
    const order = sorted(s, values);
    const top = largest(values);
    const left = Math.min(260, s.width * 0.5);
    const reach = (s.width - left - 70) / (signed ? 2 : 1);
    const zero = signed ? left + reach + 20 : left + 10;
    order.forEach((i, line) => {
      const y = 10 + line * STEP - s.scroll;
      const v = values[i]!;
      const w = (reach * Math.abs(v)) / (top || 1);
      const lit = s.values.hover?.unit === i;
      const place = s.example.units.places[i]?.[0] ?? i;
      const given = s.example.row?.[place];
      const name = `${shown(s.example.units.names[i])}${given === undefined ? "" : ` = ${number(given)}`}`;
      const size = s.width < 440 ? 10.5 : 12;
      m.text(left, y + 13, fitted(m, name, left - 6, size), { align: "end", bold: lit, fill: theme.ink, size });
      const colour = signed ? (v >= 0 ? theme.plus : theme.minus) : theme.amount;
      m.rect(v < 0 ? zero - w : zero, y + 3, Math.max(w, 0.5), STEP - 6, {
        fill: rgb(colour),
        ...(lit ? { stroke: theme.focus } : {}),
      });
      m.text(v < 0 ? zero - w - 4 : zero + w + 4, y + 13, number(v), {
        size: 11,
        fill: theme.soft,
        align: v < 0 ? "end" : "start",
      });
    });
    m.line(zero, 6 - s.scroll, zero, 10 + order.length * STEP - s.scroll, { stroke: theme.line });
    if (signed)
      signLegend(
        m,
        theme,
        left,
        16 + order.length * STEP - s.scroll,
        top,
        [s.t("against_answer"), s.t("for_answer")],
        s.width,
      );
    return {
      hit(_x, y) {
        const i = order[Math.floor((y + s.scroll - 10) / STEP)];
        return i === undefined ? null : { unit: i };
      },
    };
  },
  declared: (s) =>
    `${s.example.methods[chosen(s)]?.name ?? ""}; ${s.t("strongest_columns", { n: Math.min(MOST, free(s).length), m: free(s).length })}`,
  say(target, s) {
    const values = s.data.relevance(s.e);
    if (!values || target.unit === undefined) return "";
    const all = s.example.methods.map((x, i) => `${x.name} ${number(values[i]![target.unit!] ?? 0)}`);
    return `${shown(s.example.units.names[target.unit])}: ${all.join(", ")}`;
  },
  table(s): Table | null {
    const values = s.data.relevance(s.e);
    if (!values) return null;
    return {
      caption: s.t("relevance_columns"),
      columns: [s.t("column"), ...s.example.methods.map((x) => x.name)],
      rows: free(s).map((i) => [shown(s.example.units.names[i]), ...values.map((v) => Number((v[i] ?? 0).toFixed(5)))]),
    };
  },
  controls: (c) => (
    <Choice
      label={c.t("pick_method")}
      value={chosen(c)}
      options={c.example.methods.map((x, i) => [i, x.name])}
      pick={(i) => {
        c.state.otherMethod.value = i;
      }}
    />
  ),
  key(key, c) {
    const values = c.data.relevance(c.e)?.[chosen(c)];
    const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    if (!step || !values) return false;
    const order = sorted(c, values);
    const i = order.indexOf(c.state.hover.value?.unit ?? -1);
    c.state.hover.value = { unit: order[i < 0 ? 0 : Math.min(order.length - 1, Math.max(0, i + step))]! };
    return true;
  },
  start: () => ({ otherMethod: 0 }),
};
export default view;

function free(s: Scene): number[] {
  return s.example.units.names.map((_, i) => i).filter((i) => !s.example.units.special[i]);
}

function sorted(s: Scene, values: Float32Array): number[] {
  return free(s)
    .sort((a, b) => Math.abs(values[b]!) - Math.abs(values[a]!) || a - b)
    .slice(0, MOST);
}
