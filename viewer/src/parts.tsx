/** Small controls. Text goes through text nodes only. */

import type { ComponentChildren } from "preact";

type Option<T> = readonly [T, string];

export function Choice<T extends string | number>(props: {
  label: string;
  value: T;
  options: readonly Option<T>[];
  pick: (value: T) => void;
}): ComponentChildren {
  const { options } = props;
  return (
    <label class="control">
      <span>{props.label}</span>
      <select
        aria-label={props.label}
        value={String(options.findIndex(([v]) => v === props.value))}
        onChange={(e) => {
          const found = options[Number(e.currentTarget.value)];
          if (found) props.pick(found[0]);
        }}
      >
        {options.map(([value, name], i) => (
          <option key={String(value)} value={String(i)} selected={value === props.value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Range(props: {
  label: string;
  value: number;
  low: number;
  high: number;
  step: number;
  pick: (value: number) => void;
}): ComponentChildren {
  return (
    <label class="control">
      <span>{props.label}</span>
      <input
        type="range"
        aria-label={props.label}
        min={props.low}
        max={props.high}
        step={props.step}
        value={props.value}
        onInput={(e) => props.pick(Number(e.currentTarget.value))}
      />
    </label>
  );
}

export function Toggle(props: { label: string; value: boolean; pick: (value: boolean) => void }): ComponentChildren {
  return (
    <label class="control tick">
      <input type="checkbox" checked={props.value} onChange={(e) => props.pick(e.currentTarget.checked)} />
      <span>{props.label}</span>
    </label>
  );
}

export function Button(props: {
  children: ComponentChildren;
  click: () => void;
  pressed?: boolean;
  off?: boolean;
  title?: string;
}): ComponentChildren {
  return (
    <button
      type="button"
      onClick={props.click}
      disabled={props.off ?? false}
      {...(props.pressed === undefined ? {} : { "aria-pressed": props.pressed })}
      {...(props.title === undefined ? {} : { title: props.title })}
    >
      {props.children}
    </button>
  );
}

export function DataTable(props: {
  table: { caption: string; columns: string[]; rows: (string | number)[][] };
}): ComponentChildren {
  const { table } = props;
  return (
    <section class="scroll" tabIndex={0} aria-label={table.caption}>
      <table>
        <caption>{table.caption}</caption>
        <thead>
          <tr>
            {table.columns.map((c) => (
              <th key={c} scope="col">
                {c}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, j) =>
                j ? (
                  <td key={j} class={typeof cell === "number" ? "n" : ""}>
                    {typeof cell === "number" ? shownNumber(cell) : cell}
                  </td>
                ) : (
                  <th key={0} scope="row">
                    {typeof cell === "number" ? shownNumber(cell) : cell}
                  </th>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const shownNumber = (value: number): string =>
  Number.isInteger(value)
    ? String(value)
    : Math.abs(value) < 0.001 && value !== 0
      ? value.toExponential(1)
      : value.toFixed(3);
