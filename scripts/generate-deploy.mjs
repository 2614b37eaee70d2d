// Writes what is generated below deploy/. Tests fail when a file is stale.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { importBundled } from "./run-bundled.mjs";

const { definitionText } = await importBundled("test/support/deploy/definition-text.ts");
write("deploy/charts/base/files/definitions.yaml", definitionText());

function write(path, text) {
  const file = resolve(import.meta.dirname, "..", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
