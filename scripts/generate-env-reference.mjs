// Writes docs/environment.md from the environment table. A unit test fails when the file is stale.
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { importBundled } from "./run-bundled.mjs";

const { environmentReference } = await importBundled("src/settings/environment-reference.ts");
writeFileSync(resolve(import.meta.dirname, "../docs/environment.md"), environmentReference());
