import type { SiteEntry } from "./records.generated.ts";

export const allHeads = (at: SiteEntry): number[] => Array.from({ length: at.heads }, (_, h) => h);
