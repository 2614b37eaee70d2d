// npm run image: the OCI image of this checkout, without Docker and without a base image (docs/image.md).
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { importBundled } from "./run-bundled.mjs";

const build = spawnSync(process.execPath, [join(import.meta.dirname, "build.mjs"), "--if-stale"], { stdio: "inherit" });
if (build.status !== 0) process.exit(1);
const { runCommand } = await importBundled("image/command.ts");
process.exitCode = await runCommand(process.argv.slice(2));
