/** Where a viewer gets its data from, whatever the host. */

import type { Manifest } from "./records.generated.ts";
import type { Dictionary, Translate } from "./words.ts";

export interface Source {
  manifest: Manifest;
  /** The gzip bytes of a chunk of the pack, as they are. */
  chunk(id: string): Promise<ArrayBuffer>;
  /** Only where a model answers: the local app, a notebook with its kernel. */
  live?: Live;
}

export interface Hello {
  model: string;
  methods: string[];
  /** The methods to begin with. */
  chosen?: string[];
  can: { ask: boolean; edit: boolean; mark: boolean; alternative: boolean };
  pack: string | null;
  /** The words of the host's language; none for English. */
  dictionary?: Dictionary;
  /** Models that read every text too, to be compared with. */
  others?: string[];
  /** The language spoken here, and all of them by code. */
  lang?: string;
  languages?: Record<string, string>;
  /** A first text that is still being read. */
  began?: { job: string; text: string | null; text_pair: string | null } | null;
}

/** The operations of `regard.live` (see its first page): `call` answers at once, long work is a job that is polled. */
export interface Live {
  hello: Hello;
  /** The pack on the screen; edits and marks name it. */
  pack: string;
  call(op: string, body: Record<string, unknown>): Promise<unknown>;
  chunk(pack: string, id: string): Promise<ArrayBuffer>;
}

export interface Job {
  job: string;
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  stage: string;
  done: number;
  total: number;
  seconds: number;
  version: number;
  result?: unknown;
  /** Of a text whose methods are still running: a pack of what is known. */
  partial?: { pack: string; done: string[]; waiting: string[] };
  error?: { said: string };
}

export interface Said {
  label: string;
  probability: number;
  distribution: [string, number][];
}

export interface EditEntry {
  what: "uniform" | "knock_out" | "mask_heads" | "permute" | "scale" | "replace" | "move";
  site: string;
  heads?: number[];
  queries?: number[];
  keys?: number[];
  factor?: number;
  values?: number[][][];
  from?: number;
  to?: number;
  share?: number;
}

export interface Edited {
  before: Said;
  after: Said;
  change: number;
  pack: string;
  spec: unknown;
}

/** A job from its start to its result; `told` sees every step, `stop` cancels it. */
export async function finished<T>(
  live: Live,
  op: string,
  body: Record<string, unknown>,
  told: (job: Job) => void,
  stop: { wanted: boolean },
  t: Translate,
): Promise<T> {
  let job = (await live.call(op, body)) as Job;
  let version = -1;
  let cancelled = false;
  for (;;) {
    if (stop.wanted && !cancelled) {
      cancelled = true;
      await live.call("cancel", { job: job.job });
    }
    job = (await live.call("job", { job: job.job, after: version })) as Job;
    version = job.version;
    told(job);
    if (job.state === "done") return job.result as T;
    if (job.state === "failed") throw new Error(job.error?.said ?? t("job_failed"));
    if (job.state === "cancelled") throw new Error(t("job_cancelled"));
  }
}

/** The source of a pack that a live host made. */
export async function packSource(live: Live, pack: string): Promise<Source> {
  const manifest = (await live.call("manifest", { pack })) as Manifest;
  return { manifest, chunk: (id) => live.chunk(pack, id), live: { ...live, pack } };
}

export async function gunzip(packed: ArrayBuffer): Promise<Uint8Array> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
