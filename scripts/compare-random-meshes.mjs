// Draws meshes, gives them to this control plane and to another one, and shows where what proxies are told differs in meaning.
//   PEER=PROGRAM node scripts/compare-random-meshes.mjs [--meshes 500] [--seed 1] [--first 0] [--rules]
import { importBundled } from "./run-bundled.mjs";

const { main } = await importBundled("test/conformance/control-planes/run-random.ts");
process.exit(await main(process.argv.slice(2), process.env.PEER, console.log));
