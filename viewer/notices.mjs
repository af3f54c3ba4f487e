// Licence notices of the packages that esbuild put into a bundle, as one comment: equal licence texts are printed once.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Names of the packages among the inputs of a build, in alphabetical order. */
export const bundledPackages = (inputs) => {
  const names = Object.keys(inputs).map((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  return [...new Set(names.filter(Boolean))].sort();
};

/** Comment with every package, its copyright line and its licence. */
export const notices = (root, packages) => {
  const holders = new Map();
  for (const name of packages) {
    const folder = join(root, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf-8"));
    const text = readFileSync(join(folder, "LICENSE"), "utf-8").replaceAll("\r\n", "\n").trim();
    const copyright = /^Copyright .*$/m.exec(text)?.[0];
    if (!copyright) throw new Error(`${name}: its LICENSE names no copyright holder`);
    const body = text.replace(`${copyright}\n`, "").replaceAll(/\n{3,}/g, "\n\n");
    holders.set(body, [...(holders.get(body) ?? []), `${name} ${version} (${license}): ${copyright}`]);
  }
  const parts = [...holders].map(([body, lines]) => `${lines.join("\n")}\n\n${body}`);
  const comment = parts.join("\n\n");
  if (/\*\/|<\/script|<!--/i.test(comment)) throw new Error("a licence text would end its comment or its script element");
  return `/*! This file contains third-party software.\n\n${comment}\n*/`;
};
