// npm run soak -- MINUTES: a built agent with its Envoy under mixed load; fails when memory or descriptors do not stay flat.
import { importBundled } from "./run-bundled.mjs";

const minutes = Number(process.argv[2] ?? "10");
if (!(minutes > 0)) {
  console.error(`${process.argv[2]} is no number of minutes`);
  process.exit(2);
}
const { soak } = await importBundled("test/support/status/soak.ts");
const { problems } = await soak(minutes, (text) => console.log(text));
for (const problem of problems) console.error(problem);
console.log(problems.length === 0 ? "flat" : "not flat");
process.exit(problems.length === 0 ? 0 : 1);
