/** Unit tests in a browser: `test(name, body)` writes one down, `unitTests()` runs them all. */

export interface Outcome {
  name: string;
  /** What went wrong; "" if nothing did. */
  problem: string;
}

const all: { name: string; body: () => void | Promise<void> }[] = [];

export function test(name: string, body: () => void | Promise<void>): void {
  all.push({ name, body });
}

export function equal(got: unknown, wanted: unknown, what = ""): void {
  const [a, b] = [JSON.stringify(plainly(got)), JSON.stringify(plainly(wanted))];
  if (a !== b) throw new Error(`${what}${what && ": "}got ${a}, wanted ${b}`);
}

export function near(got: number, wanted: number, most: number, what = ""): void {
  if (!(Math.abs(got - wanted) <= most)) throw new Error(`${what}: got ${got}, wanted ${wanted} within ${most}`);
}

export function ok(holds: unknown, what: string): void {
  if (!holds) throw new Error(what);
}

/** What JSON would lose: typed arrays, not-a-number, undefined. */
function plainly(value: unknown): unknown {
  if (value === undefined) return "undefined";
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array);
  return value;
}

async function unitTests(): Promise<Outcome[]> {
  const out: Outcome[] = [];
  for (const { name, body } of all) {
    let problem = "";
    try {
      await body();
    } catch (error) {
      problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    }
    out.push({ name, problem });
  }
  return out;
}

Object.assign(globalThis, { unitTests });
