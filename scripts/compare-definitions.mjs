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
for (const { object, onlyBy, message, isInvalid } of differences) {
  const validation = isInvalid ? ", and the validation webhook refuses it" : "";
  console.log(`only ${onlyBy} take ${object}${validation}\n    ${message}`);
}
const invalid = differences.filter(({ isInvalid }) => isInvalid).length;
console.log(`${taken} objects are taken by both, ${refused} are refused by both`);
console.log(`${differences.length} are taken by one only, of which the validation webhook refuses ${invalid}`);
process.exitCode = differences.some(({ onlyBy }) => onlyBy === "theirs") ? 1 : 0;
