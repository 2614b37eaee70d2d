// node scripts/compare-definitions.mjs DEFINITIONS.yaml PATH...: whether API servers with our definitions of rule kinds and with those of
// a file take the same rule objects. Exits 1 where ours refuse what theirs take.
import { importBundled } from "./run-bundled.mjs";

const [theirs, ...paths] = process.argv.slice(2);
if (theirs === undefined || paths.length === 0) {
  console.error("usage: node scripts/compare-definitions.mjs DEFINITIONS.yaml PATH...");
  process.exit(2);
}
const { compareDefinitions } = await importBundled("test/support/deploy/compare-definitions.ts");
const { taken, refused, differences } = await compareDefinitions(theirs, paths);
for (const { object, onlyBy, message } of differences) console.log(`only ${onlyBy} take ${object}\n    ${message}`);
console.log(`${taken} objects are taken by both, ${refused} are refused by both, ${differences.length} differ`);
process.exitCode = differences.some(({ onlyBy }) => onlyBy === "theirs") ? 1 : 0;
