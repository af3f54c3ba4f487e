/** Words of the interface: the English text is the key; one catalogue per other language. */

import { ZH } from "./words_zh.ts";

export type Lang = "en" | "zh";

export function translator(lang: string): (text: string, numbers?: Record<string, string | number>) => string {
  const book: Record<string, string> = lang.startsWith("zh") ? ZH : {};
  return (text, numbers) => {
    const found = book[text] ?? text;
    return numbers ? found.replace(/\{(\w+)\}/g, (_, name: string) => String(numbers[name] ?? "")) : found;
  };
}
