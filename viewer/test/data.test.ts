/** Bytes of a pack back to weights; heads and layers put together; tiles. */

import { Data, pooledTo } from "../src/data.ts";
import { fromBase64 } from "../src/hosts/page.ts";
import { gunzip } from "../src/source.ts";
import { equal, near, ok, test } from "./harness.ts";
import { dataOf, gzip, manifestOf, packed, sample, siteOf, softmaxed, TOKENS, tiled } from "./sample.ts";

test("bytes become weights within the error of eight bits of a square root", () => {
  const weights = softmaxed(3, 17, 5);
  const data = dataOf(sample(Array.from({ length: 17 }, String), [weights]));
  weights.forEach((head, h) => {
    const grid = data.head(0, 0, h)!;
    const { top } = packed(head);
    equal([grid.rows, grid.columns, grid.down, grid.across], [17, 17, 1, 1]);
    near(Math.max(...grid.values), top, 1e-6, "the largest weight is exact");
    // half a step of b/255 in the square root: |w - w'| <= top (2 sqrt(w / top) / 510 + 1 / 510^2)
    head.flat().forEach((w, i) => {
      near(grid.values[i]!, w, top * ((2 * Math.sqrt(w / top)) / 510 + 1 / 510 ** 2) + 1e-6, `weight ${i}`);
    });
  });
});

test("the bytes of the writer's own example are read as it says", () => {
  const found = sample(
    ["a", "b"],
    [
      [
        [
          [0.25, 0.5],
          [0, 0.01],
        ],
      ],
    ],
  );
  equal(found.chunks["0/0/all"], [180, 255, 0, 36]);
  const { values } = dataOf(found).head(0, 0, 0)!;
  [0.25, 0.5, 0, 0.01].forEach((w, i) => {
    near(values[i]!, w, 0.002, `weight ${i}`);
  });
  equal(values[2], 0);
});

test("a head without weight is nothing, not NaN", () => {
  const { values, top } = dataOf(
    sample(
      ["a", "b"],
      [
        [
          [
            [0, 0],
            [0, 0],
          ],
        ],
      ],
    ),
  ).head(0, 0, 0)!;
  equal([Array.from(values), top], [[0, 0, 0, 0], 0]);
});

test("gzip is undone by the browser's own stream", async () => {
  const bytes = Uint8Array.from({ length: 70000 }, (_, i) => (i * 31) % 251);
  const small = await gzip(bytes);
  ok(small.byteLength < bytes.length, "it was compressed");
  equal(await gunzip(small), bytes);
});

test("base64 of a page gives the same bytes", () => {
  equal(new Uint8Array(fromBase64(btoa("\x00\xffabc"))), [0, 255, 97, 98, 99]);
  equal(new Uint8Array(fromBase64("")).length, 0);
});

test("a chunk that arrives later is asked for once and then there", async () => {
  const { manifest, chunks } = sample(TOKENS, [softmaxed(2, 5, 1)]);
  const asked: string[] = [];
  let arrived = 0;
  const data = new Data(
    manifest,
    async (id) => {
      asked.push(id);
      return gunzip(await gzip(Uint8Array.from(chunks[id]!)));
    },
    () => {
      arrived++;
    },
  );
  equal(data.head(0, 0, 0), null);
  equal(data.head(0, 0, 1), null);
  for (let i = 0; i < 100 && !arrived; i++) await new Promise((r) => setTimeout(r, 5));
  equal([asked, arrived], [["0/0/all"], 1]);
  equal(data.head(0, 0, 1)!.values, dataOf({ manifest, chunks }).head(0, 0, 1)!.values);
});

test("a broken chunk is named and asked for only once", async () => {
  const { manifest } = sample(TOKENS, [softmaxed(1, 5, 1)]);
  let calls = 0;
  let arrived = 0;
  const data = new Data(
    manifest,
    (_id) => {
      calls++;
      return gunzip(Uint8Array.from([1, 2, 3]).buffer);
    },
    () => {
      arrived++;
    },
  );
  data.head(0, 0, 0);
  for (let i = 0; i < 100 && !arrived; i++) await new Promise((r) => setTimeout(r, 5));
  equal(data.head(0, 0, 0), null);
  equal(calls, 1);
  ok(data.failure.startsWith("chunk 0/0/all: "), data.failure);
});

const TWO = [
  [
    [
      [1, 0],
      [0.25, 0.75],
    ],
    [
      [0, 1],
      [0.75, 0.25],
    ],
  ],
  [
    [
      [0.5, 0.5],
      [0, 1],
    ],
    [
      [1, 0],
      [1, 0],
    ],
  ],
];

test("heads are pooled by mean, by max, or not at all", () => {
  const data = dataOf(sample(["a", "b"], TWO));
  const [first, second] = [data.head(0, 0, 0)!.values, data.head(0, 0, 1)!.values];
  equal(data.pooled(0, 0, [0, 1], "one")!.values, first);
  const mean = data.pooled(0, 0, [0, 1], "mean")!;
  const max = data.pooled(0, 0, [0, 1], "max")!;
  [0.5, 0.5, 0.5, 0.5].forEach((w, i) => {
    near(mean.values[i]!, w, 0.003, `mean ${i}`);
  });
  [1, 1, 0.75, 0.75].forEach((w, i) => {
    near(max.values[i]!, w, 0.003, `max ${i}`);
  });
  for (let i = 0; i < 4; i++) near(mean.values[i]!, (first[i]! + second[i]!) / 2, 1e-6, `mean ${i}`);
  near(max.top, 1, 1e-6, "top");
  equal(data.head(0, 0, 0)!.values, first, "pooling leaves the heads as they are");
});

test("layers are pooled after their heads", () => {
  const data = dataOf(sample(["a", "b"], TWO));
  const mean = data.overLayers(0, [0, 1], [0, 1], "mean", "mean")!.values;
  const max = data.overLayers(0, [0, 1], [0, 1], "max", "mean")!.values;
  const first = data.overLayers(0, [0, 1], [1], "max", "one")!.values;
  [0.625, 0.375, 0.5, 0.5].forEach((w, i) => {
    near(mean[i]!, w, 0.003, `mean of means ${i}`);
  });
  [0.75, 0.5, 0.5, 0.5].forEach((w, i) => {
    near(max[i]!, w, 0.003, `max of means ${i}`);
  });
  [1, 1, 1, 0.25].forEach((w, i) => {
    near(first[i]!, w, 0.003, `max of the second heads ${i}`);
  });
});

test("a block is as large as its largest weight, with the writer's blocks", () => {
  const grid = { rows: 2, columns: 3, values: Float32Array.from([1, 2, 3, 4, 9, 0]), top: 9, down: 1, across: 1 };
  const small = pooledTo(grid, 1, 2);
  equal([small.values, small.down, small.across].map(String), ["4,9", "2", "1.5"]);
  equal(pooledTo(grid, 2, 3), grid, "what fits stays");
});

test("heads of which only a pooled map is kept bring the others down to its size", () => {
  const heads = softmaxed(2, 4, 9).map(packed);
  const at = { ...siteOf(0, 2, 4, 4), full: [0], pooled: [2, 2], tops: heads.map((h) => h.top), storage: "heads" };
  const manifest = manifestOf({ sites: [at as never] }, ["a", "b", "c", "d"]);
  const small = Uint8Array.from([10, 20, 30, 40, 50, 60, 70, 255]);
  const data = dataOf({ manifest, chunks: { "0/0/0": heads[0]!.bytes, "0/0/pooled": small } });
  equal(data.head(0, 0, 1)!.rows, 2);
  equal(data.head(0, 0, 1)!.down, 2);
  near(data.head(0, 0, 1)!.values[3]!, heads[1]!.top, 1e-6, "the second head is read behind the first");
  const both = data.pooled(0, 0, [0, 1], "max")!;
  equal([both.rows, both.columns, both.down], [2, 2, 2]);
});

test("tiles are put together without a seam", () => {
  const given = tiled();
  const data = dataOf(given);
  const grid = data.head(0, 0, 0)!;
  equal([grid.rows, grid.columns, grid.down], [301, 521, 1]);
  for (const [r, c] of [
    [0, 0],
    [255, 255],
    [255, 256],
    [256, 255],
    [256, 256],
    [299, 511],
    [299, 512],
    [300, 520],
  ])
    near(grid.values[r! * 521 + c!]!, 0.8 * (given.byte(r!, c!) / 255) ** 2, 1e-6, `cell ${r}, ${c}`);
});

test("the weight under the pointer is the exact one of its tile", () => {
  const given = tiled();
  const data = dataOf(given);
  for (const [r, c] of [
    [0, 0],
    [17, 300],
    [300, 520],
    [256, 512],
    [255, 511],
  ])
    near(data.exact(0, 0, 0, r!, c!)!, 0.8 * (given.byte(r!, c!) / 255) ** 2, 1e-6, `cell ${r}, ${c}`);
});

test("each level of tiles is half as large, rounded up", () => {
  const data = dataOf(tiled());
  equal(
    [0, 1, 2].map((l) => data.levelSize(0, 0, l)),
    [
      [301, 521],
      [151, 261],
      [76, 131],
    ],
  );
  equal(data.tile(0, 0, 0, 1, 0, 1)!.length, 151 * 5);
});

test("grids that were forgotten are made again", () => {
  const layers = Array.from({ length: 60 }, (_, i) => softmaxed(1, 2, i + 1));
  const data = dataOf(sample(["a", "b"], layers));
  const first = Array.from(data.head(0, 0, 0)!.values);
  for (let s = 1; s < 60; s++) data.head(0, s, 0);
  equal(data.head(0, 0, 0)!.values, first);
});
