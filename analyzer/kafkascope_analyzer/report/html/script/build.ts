// Bundles start.ts and what it imports into ../page.js, one script that the page holds. With --check nothing is
// written, and the exit code is 1 where the committed bundle is another one.
//
// The bundle's first line has the SHA-256 of the sources that it was made of, and of the lines below. `make test` needs
// no bundler: it computes both again (tests/analyzer/report/html/test_bundle.py).

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const HERE = import.meta.dirname;
const LAYERS = ["facts", "layout", "drawing"];
const PAGE = join(HERE, "..", "page.js");

function sha256(...parts: (string | Buffer)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

// Every module and what decides how they are bundled; declarations (*.d.ts) leave nothing in a bundle.
function sourcesHash(): string {
  const modules = ["", ...LAYERS.map((layer) => `${layer}/`)].flatMap((folder) =>
    readdirSync(join(HERE, folder))
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))
      .map((name) => `${folder}${name}`),
  );
  const names = [...modules, "package-lock.json", "tsconfig.json"].sort();
  return sha256(...names.flatMap((name) => [`${name}\n`, readFileSync(join(HERE, name)), "\n"]));
}

async function bundled(): Promise<string> {
  const made = await build({
    entryPoints: [join(HERE, "start.ts")],
    absWorkingDir: HERE,
    bundle: true,
    write: false,
    format: "iife",
    target: "es2023",
    charset: "utf8",
    legalComments: "none",
  });
  const code = made.outputFiles[0].text;
  if (code.includes("</")) throw new Error("the script has </ in it, which could end the element that holds it");
  return `// Made by \`make page\`. Sources: sha256 ${sourcesHash()}; lines below: sha256 ${sha256(code)}\n${code}`;
}

const text = await bundled();
if (!process.argv.includes("--check")) writeFileSync(PAGE, text);
else if (readFileSync(PAGE, "utf8") !== text) {
  console.error("report/html/page.js is not what its sources give: run `make page`");
  process.exitCode = 1;
}
