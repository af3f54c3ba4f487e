import { fitted } from "../marks/marks.ts";
import { rgb } from "../palette.ts";
import { Button } from "../parts.tsx";
import { pieces } from "../units.ts";
import { type Context, type Scene, shown, type Table, type View } from "../view.ts";

const LINE = 28;

/** Mark by hand what decides: kept with author and date, and used by the plausibility metrics. */
const view: View = {
  name: "rationale",
  title: "view_rationale",
  order: 11,
  attention: () => false,
  needs: (_, example, live) => (!live ? "no_live" : example.units.names.length ? null : "no_units"),
  height: (s) => (laid(s).at(-1)?.line ?? 0) * LINE + LINE + 14,
  draw(m, s) {
    const spots = laid(s);
    const { theme } = s;
    for (const spot of spots) {
      const on = spot.units.every((u) => s.values.marked.includes(u));
      const lit = s.values.hover?.unit === spot.units[0];
      const y = 6 + spot.line * LINE - s.scroll;
      if (on) m.rect(spot.x, y, spot.w, LINE - 6, { fill: rgb(theme.plus), alpha: 0.45 });
      m.rect(spot.x, y, spot.w, LINE - 6, { stroke: lit ? theme.focus : theme.line, width: lit ? 2.5 : 1 });
      m.text(spot.x + 5, y + 15, fitted(m, spot.text, spot.w - 8), { fill: theme.ink, bold: on });
    }
    return {
      hit(x, y) {
        const spot = spots.find(
          (o) =>
            x >= o.x && x <= o.x + o.w && y + s.scroll >= 6 + o.line * LINE && y + s.scroll < 6 + (o.line + 1) * LINE,
        );
        return spot ? { unit: spot.units[0]! } : null;
      },
    };
  },
  declared: (s) =>
    s.t("marking_hint", {
      n: s.values.marked.length,
    }),
  say: (target, s) =>
    `${shown(s.example.units.names[target.unit ?? 0])}: ${s.values.marked.includes(target.unit ?? -1) ? s.t("marked") : s.t("not_marked")}`,
  table: (s): Table => ({
    caption: s.t("marked_units"),
    columns: [s.t("unit"), s.t("marked")],
    rows: free(s).map((p) => [shown(p.name), p.units.every((u) => s.values.marked.includes(u)) ? "✓" : ""]),
  }),
  controls: (c) => (
    <>
      <label class="control">
        <span>{c.t("your_name")}</span>
        <input
          type="text"
          value={c.state.author.value}
          onInput={(e) => {
            c.state.author.value = e.currentTarget.value;
          }}
        />
      </label>
      <Button click={() => void save(c)} off={!c.state.author.value.trim() || !c.state.marked.value.length}>
        {c.t("store_marks")}
      </Button>
      <Button
        click={() => {
          c.state.marked.value = [];
        }}
        off={!c.state.marked.value.length}
      >
        {c.t("clear")}
      </Button>
    </>
  ),
  below: (c) => (
    <div>
      {c.state.problem.value && (
        <p class="error" role="alert">
          {c.state.problem.value}
        </p>
      )}
      {c.state.marks.value.length > 0 && (
        <p role="status" data-marks="">
          {c.t("stored")}: {c.state.marks.value.map((m) => `${m.author} (${m.date})`).join("; ")}
        </p>
      )}
    </div>
  ),
  click(target, c) {
    const piece = free(c).find((p) => p.units.includes(target.unit ?? -1));
    if (!piece) return;
    const old = c.state.marked.value;
    const there = piece.units.every((u) => old.includes(u));
    c.state.marked.value = there
      ? old.filter((u) => !piece.units.includes(u))
      : [...new Set([...old, ...piece.units])].sort((a, b) => a - b);
  },
  key(key, c) {
    const all = free(c);
    const i = all.findIndex((p) => p.units.includes(c.state.hover.value?.unit ?? -1));
    const step = key === "ArrowRight" || key === "ArrowDown" ? 1 : key === "ArrowLeft" || key === "ArrowUp" ? -1 : 0;
    if (key === "Enter" || key === " ") {
      if (c.state.hover.value) view.click?.(c.state.hover.value, c);
    } else if (step)
      c.state.hover.value = { unit: all[i < 0 ? 0 : Math.min(all.length - 1, Math.max(0, i + step))]!.units[0]! };
    else return false;
    return true;
  },
  start: () => ({ words: true, problem: "" }),
};
export default view;

const free = (s: Scene) => pieces(s).filter((p) => !p.special);

function laid(s: Scene): { units: number[]; text: string; x: number; line: number; w: number }[] {
  let [x, line] = [4, 0];
  return free(s).map((p) => {
    const text = shown(p.name);
    const w = Math.min(s.width - 12, 12 + Array.from(text).reduce((sum, c) => sum + (c > "\u1100" ? 13 : 7.6), 0));
    if (x > 4 && x + w > s.width - 6) {
      x = 4;
      line++;
    }
    const spot = { units: p.units, text, x, line, w };
    x += w + 4;
    return spot;
  });
}

async function save(c: Context): Promise<void> {
  const { live, state } = c;
  if (!live) return;
  state.problem.value = "";
  try {
    const body = { pack: live.pack, example: c.e, units: state.marked.value, author: state.author.value.trim() };
    const found = (await live.call("mark", body)) as { marks: { author: string; date: string }[] };
    state.marks.value = found.marks;
  } catch (error) {
    state.problem.value = error instanceof Error ? error.message : String(error);
  }
}
