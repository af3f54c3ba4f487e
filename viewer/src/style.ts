/** One constructed sheet in the shadow root: nothing leaks in or out, and no policy has to allow inline styles. */
export const STYLE = `
:host { display: block; container-type: inline-size; font: 14px/1.45 system-ui, "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; }
* { box-sizing: border-box; }
.viewer { --paper: #fff; --ink: #1b1b1b; --soft: #5c6068; --line: #c9ccd2; --wash: #f3f4f6; --mark: #0b57a4; --focus: #b35900; color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: 6px; padding: 10px 12px; color-scheme: light; }
.viewer.dark { --paper: #14161a; --ink: #e8e8e8; --soft: #a9adb5; --line: #4a4e57; --wash: #22252b; --mark: #8cc4ff; --focus: #ffd24d; color-scheme: dark; }
.tabs { display: flex; flex-wrap: wrap; gap: 2px; border-bottom: 1px solid var(--line); margin-bottom: 8px; }
.tabs button { border: 0; border-bottom: 3px solid transparent; background: none; padding: 5px 9px; color: var(--ink); border-radius: 0; }
.tabs button[aria-selected="true"] { border-bottom-color: var(--mark); font-weight: 600; }
button, select, input, textarea { font: inherit; color: inherit; }
button { background: var(--wash); border: 1px solid var(--line); border-radius: 4px; padding: 3px 9px; cursor: pointer; }
button[disabled] { opacity: .55; cursor: default; }
button[aria-pressed="true"] { border-color: var(--mark); box-shadow: inset 0 0 0 1px var(--mark); }
select { background: var(--paper); border: 1px solid var(--line); border-radius: 4px; padding: 3px 5px; max-width: 24em; min-width: 0; }
input[type=text], textarea { background: var(--paper); border: 1px solid var(--line); border-radius: 4px; padding: 4px 7px; }
input[type=range] { width: 110px; vertical-align: middle; accent-color: var(--mark); }
input[type=checkbox] { accent-color: var(--mark); }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 1px; }
.bar { display: flex; flex-wrap: wrap; gap: 6px 12px; align-items: center; min-height: 34px; margin: 0 0 6px; }
.control { display: inline-flex; gap: 5px; align-items: center; white-space: nowrap; max-width: 100%; }
.control > span { color: var(--soft); }
.squares { display: inline-flex; flex-wrap: wrap; gap: 3px; align-items: center; }
.squares.wide button { width: auto; padding: 0 8px; font-size: 12.5px; }
.squares button { width: 24px; height: 22px; padding: 0; font-size: 11px; line-height: 1; border-width: 2px; }
.squares button[aria-pressed="false"] { background: var(--paper) !important; color: var(--soft) !important; }
.declared { margin: 0 0 6px; color: var(--soft); font-size: 13px; min-height: 1.45em; }
.sides { display: grid; grid-template-columns: minmax(0, 1fr) 232px; gap: 14px; align-items: start; }
.stage { position: relative; overflow: auto; border-radius: 3px; }
.stage canvas { display: block; flex: none; position: sticky; top: 0; left: 0; touch-action: pan-y; }
.more { margin: 2px 0 0; font-size: 12px; color: var(--soft); border-top: 2px dashed var(--line); }
.caveat { font-size: 12.5px; border-left: 4px solid #cc79a7; padding: 2px 0 2px 9px; color: var(--ink); }
.caveat p { margin: 0 0 6px; }
.caveat .verdict { font-weight: 600; }
.readout { min-height: 2.9em; margin: 6px 0 0; font-size: 13px; overflow-wrap: anywhere; }
.answer { margin: 0 0 6px; font-size: 13.5px; }
.trust { margin: 0 0 6px; font-size: 12.5px; max-width: 90ch; }
.scroll { overflow: auto; max-height: 340px; }
table { border-collapse: collapse; font-size: 12.5px; }
caption { text-align: start; color: var(--soft); padding: 3px 0; }
th, td { border-bottom: 1px solid var(--line); padding: 2px 8px; text-align: start; vertical-align: top; max-width: 30em; overflow-wrap: anywhere; }
td.n { text-align: end; font-variant-numeric: tabular-nums; }
thead th { position: sticky; top: 0; background: var(--paper); }
details { margin-top: 6px; }
summary { cursor: pointer; color: var(--soft); }
.notes { font-size: 12.5px; color: var(--soft); margin: 6px 0 0; }
.notes p { margin: 2px 0; }
.error { color: #b00020; font-weight: 600; }
.dark .error { color: #ff8a8a; }
.head { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center; justify-content: space-between; margin: 0 0 8px; }
.head .name { font-size: 18px; margin: 0; overflow-wrap: anywhere; min-width: 0; }
.head .bar { margin: 0; }
dialog { max-width: 62ch; color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: 6px; }
dialog h2 { font-size: 16px; margin: 0 0 8px; }
dialog::backdrop { background: rgba(0, 0, 0, .4); }
.ask { margin-bottom: 8px; }
.ask textarea { display: block; width: 100%; min-height: 3.6em; max-height: 8.5em; resize: vertical; field-sizing: content; margin-bottom: 6px; }
.ask .bar { align-items: center; }
.ask .methods { margin: 0; }
.ask .methods[open] { flex-basis: 100%; }
button.main { background: var(--mark); border-color: var(--mark); color: var(--paper); font-weight: 600; padding: 3px 16px; }
.soft { color: var(--soft); }
.notice, .old { border-left: 4px solid var(--focus); padding: 2px 9px; margin: 0 0 8px; font-weight: 600; }
.said { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 6fr); gap: 2px 24px; margin-bottom: 8px; }
.said > :only-child { grid-column: 1 / -1; }
.classes { list-style: none; margin: 0 0 6px; padding: 0; font-size: 13px; max-width: 560px; }
.classes li { display: grid; grid-template-columns: minmax(0, 10em) minmax(0, 1fr) 4.5em; gap: 8px; align-items: center; }
.classes .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.classes .track { height: 9px; background: var(--wash); border-radius: 2px; overflow: hidden; }
.classes .fill { display: block; height: 100%; background: var(--mark); transition: width .16s ease-out; }
.classes .soft .fill { background: var(--soft); }
.classes .n { text-align: end; font-variant-numeric: tabular-nums; }
.stale .said, .stale [role=tabpanel], .stale .notes { color: var(--soft); }
.stage canvas, .classes .track { transition: opacity .15s; }
.stale .stage canvas, .stale .classes .track { opacity: .3; }
[role=tabpanel] .stage { animation: appear .16s ease-out; }
@keyframes appear { from { opacity: .25; } to { opacity: 1; } }
@media (prefers-reduced-motion: reduce) { *, ::backdrop { animation: none !important; transition: none !important; } }
progress { accent-color: var(--mark); }
.chips { display: flex; flex-wrap: wrap; gap: 4px; margin: 4px 0; }
.chips button { padding: 1px 6px; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.bars { display: grid; grid-template-columns: auto 1fr auto auto; gap: 2px 8px; max-width: 560px; font-size: 13px; align-items: center; }
.bars .bar1 { height: 9px; background: var(--line); }
.bars .bar2 { height: 9px; background: var(--mark); }
@container (max-width: 640px) { .head .control > span { display: none; } .control { white-space: normal; flex-wrap: wrap; } select { max-width: 100%; } .sides, .said { grid-template-columns: minmax(0, 1fr); } .more { margin: 2px 0 0; font-size: 12px; color: var(--soft); border-top: 2px dashed var(--line); }
.caveat { order: 2; } }
@media print { .bar, .tabs, details, .ask { display: none; } }
`;
