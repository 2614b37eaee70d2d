// Writes what is generated below deploy/: the definitions from the message tables, the plain manifests from the charts (which needs helm:
// npm run kubernetes -- get helm). Tests fail when a file is stale.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { importBundled } from "./run-bundled.mjs";

const { definitionText } = await importBundled("test/support/deploy/definition-text.ts");
write("deploy/charts/base/files/definitions.yaml", definitionText());
const { manifestFiles } = await importBundled("test/support/deploy/manifest-files.ts");
for (const [name, text] of await manifestFiles()) write(`deploy/manifests/${name}`, text);

function write(path, text) {
  const file = resolve(import.meta.dirname, "..", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
