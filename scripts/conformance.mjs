// npm run conformance -- FAMILY DIR
import { importBundled } from "./run-bundled.mjs";

const { main } = await importBundled("test/conformance/run.ts");
process.exit(await main(process.argv.slice(2), console.log));
