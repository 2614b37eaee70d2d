// npm run bench [NAME...]: every benchmark of bench/, one table with ratios, and the same as JSON. PEER=path adds another pilot-agent.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join, resolve } from "node:path";
import { importBundled } from "./run-bundled.mjs";

const root = resolve(import.meta.dirname, "..");
const wanted = process.argv.slice(2);
const known = readdirSync(join(root, "bench"))
  .filter((name) => name.endsWith(".bench.ts"))
  .map((name) => name.slice(0, -".bench.ts".length));
const unknown = wanted.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`no benchmark named ${unknown.join(", ")} (there are: ${known.join(", ")})`);
  process.exit(2);
}

const context = {
  peer: process.env.PEER || undefined,
  program: join(root, "bin/pilot-agent"),
  note: (text) => console.error(`   ${text}`),
};
const results = [];
for (const name of wanted.length > 0 ? wanted : known) {
  console.error(`-- ${name}`);
  const { default: bench } = await importBundled(`bench/${name}.bench.ts`);
  for (const row of await bench.run(context)) results.push({ bench: name, ...row });
}

const format = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));
const table = results.map((row) => [
  row.bench,
  row.name,
  `${format(row.value)} ${row.unit}`,
  row.ratio === undefined ? "" : `${row.ratio.value.toFixed(2)} x ${row.ratio.to}`,
  row.goal ?? "",
]);
const header = ["benchmark", "figure", "value", "ratio", "goal"];
const widths = header.map((_, column) => Math.max(...[header, ...table].map((row) => row[column].length)));
for (const row of [header, ...table])
  console.log(
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join("  ")
      .trimEnd(),
  );
mkdirSync(join(root, "bench/results"), { recursive: true });
const file = join("bench/results", `${new Date().toISOString().replaceAll(":", "-")}.json`);
writeFileSync(
  join(root, file),
  `${JSON.stringify({ node: process.version, cpus: cpus().length, peer: context.peer, results }, undefined, 2)}\n`,
);
console.log(`\nwritten to ${file}`);
process.exit(0);
