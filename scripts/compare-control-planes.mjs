// Asks two control planes that read one API server as the pods of the cluster, and shows where their answers differ in meaning.
//   node scripts/compare-control-planes.mjs --kubeconfig FILE --ours HOST:PORT --peer HOST:PORT [--namespace NS ...] [--cluster ID]
import { importBundled } from "./run-bundled.mjs";

const { main } = await importBundled("test/conformance/control-planes/run.ts");
process.exit(await main(process.argv.slice(2), console.log));
