// One source, two files: viewer.js (an ES module for page, server and notebook) and viewer_svg.js (headless drawing).
// Each carries the licence notices of the packages inside it.
// `node build.mjs --out DIR` writes elsewhere (the rebuild test compares the two).
// `node build.mjs --tests FILE` writes the unit tests as one script for a browser, and nothing else.
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { bundledPackages, notices } from "./notices.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const option = (name) => {
  const at = process.argv.indexOf(name);
  return at > 0 ? process.argv[at + 1] : undefined;
};
const out = option("--out") ?? join(here, "../src/regard/present/pack/static");
const tests = option("--tests");

/** `import views from "glob:./views"`: the default export of every file of a folder, in the order of their names. */
const glob = {
  name: "glob",
  setup(b) {
    b.onResolve({ filter: /^glob:/ }, (a) => ({ path: join(a.resolveDir, a.path.slice(5)), namespace: "glob" }));
    b.onLoad({ filter: /.*/, namespace: "glob" }, (a) => {
      const names = readdirSync(a.path)
        .filter((n) => n.endsWith(".tsx"))
        .sort();
      const lines = names.map((n, i) => `import v${i} from "./${n}";`);
      const list = names.map((_, i) => `v${i}`).join(", ");
      return { contents: `${lines.join("\n")}\nexport default [${list}];`, resolveDir: a.path, loader: "js" };
    });
  },
};

const shared = {
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  absWorkingDir: here,
  jsx: "automatic",
  jsxImportSource: "preact",
  plugins: [glob],
  // a page that embeds the bundle must not find the end of its own script element in it
  supported: { "inline-script": false },
};
/** Which packages end up in a bundle is known after a first build; the second one adds their notices. */
const bundle = async (entry, format, outfile) => {
  const options = { ...shared, entryPoints: [entry], format, outfile };
  const { metafile } = await build({ ...options, write: false, metafile: true });
  await build({ ...options, banner: { js: notices(here, bundledPackages(metafile.inputs)) } });
};

if (tests) {
  const names = readdirSync(join(here, "test"))
    .filter((n) => n.endsWith(".test.ts"))
    .sort();
  const contents = [...names.map((n) => `import "./${n}";`), 'import "./harness.ts";'].join("\n");
  const stdin = { contents, resolveDir: join(here, "test"), loader: "ts" };
  await build({ ...shared, minify: false, sourcemap: "inline", stdin, format: "iife", outfile: tests });
} else {
  await bundle("src/hosts/hosts.ts", "esm", join(out, "viewer.js"));
  await bundle("src/hosts/svg.ts", "iife", join(out, "viewer_svg.js"));
}
