/** The prediction: the probability of every class, and what removing the marked words does to it. */

import type { ComponentChildren } from "preact";
import type { ExampleEntry } from "./records.generated.ts";
import type { Context } from "./view.ts";

/** Classes with a bar of their own; more are summed up in one. */
const MOST = 10;

export interface ClassBar {
  name: string;
  probability: number;
  /** Whether it stands for several classes. */
  rest: boolean;
}

/** The most probable classes first, the others together; none where the model does not choose among named classes. */
export function classBars(example: ExampleEntry, labels: readonly string[], rest: (n: number) => string): ClassBar[] {
  const { distribution } = example;
  if (distribution.length < 2 || labels.length !== distribution.length) return [];
  const bars = distribution
    .map((probability, i) => ({ name: labels[i]!, probability, rest: false }))
    .sort((a, b) => b.probability - a.probability);
  if (bars.length <= MOST + 1) return bars;
  const others = bars.slice(MOST);
  const sum = others.reduce((total, bar) => total + bar.probability, 0);
  return [...bars.slice(0, MOST), { name: rest(others.length), probability: sum, rest: true }];
}

export function Answer(props: { c: Context; named: boolean }): ComponentChildren {
  const { example, manifest, t } = props.c;
  if (!example.predicted && example.probability === null) return null;
  const sure = example.probability === null ? "" : ` (${example.probability.toFixed(3)})`;
  const label = example.label === null ? "" : `; ${t("label")}: ${example.label}`;
  const model = example.model && !(props.named && example.model === manifest.model) ? ` · ${example.model}` : "";
  const bars = classBars(example, manifest.labels, (n) => t("classes_more", { n }));
  return (
    <div class="said">
      <div>
        <p class="answer">
          <b>{`${t("answer")}: ${example.predicted || "–"}${sure}`}</b>
          {label}
          {model}
        </p>
        {bars.length > 0 && (
          <ul class="classes" aria-label={t("probabilities")}>
            {bars.map((bar) => (
              <li key={bar.name} class={bar.rest ? "soft" : ""}>
                <span class="name" title={bar.name}>
                  {bar.name}
                </span>
                <span class="track" aria-hidden="true">
                  <span class="fill" style={{ width: `${100 * bar.probability}%` }} />
                </span>
                <span class="n">{`${(100 * bar.probability).toFixed(1)} %`}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
      {example.trust.length > 0 && (
        <div>
          {example.trust.map((line) => (
            <p class="trust" key={line}>
              {line}
            </p>
          ))}
        </div>
      )}
    </div>
  );
}
