// npm test: types, lint, import direction, generated files, then every suite of vitest; ends with one line of counts.
//   node scripts/test.mjs [unit|conformance|integration|e2e|kubernetes|cluster|slow ...] [-- vitest arguments]
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const words = process.argv.slice(2);
const split = words.indexOf("--");
const suites = split === -1 ? words : words.slice(0, split);
const extra = split === -1 ? [] : words.slice(split + 1);
const SUITES = ["unit", "conformance", "integration", "e2e", "kubernetes", "cluster", "slow"];
/** Not part of `npm test`: they take minutes, or the whole machine. */
const OWN_RUNS = ["cluster", "slow"];
const unknown = suites.filter((name) => !SUITES.includes(name));
if (unknown.length > 0) {
  console.error(`no suite named ${unknown.join(", ")} (there are: ${SUITES.join(", ")}); vitest arguments follow --`);
  process.exit(2);
}
const everything = suites.length === 0;
const bin = (name) => join(root, "node_modules", ".bin", name);

const run = (title, command, args, options = {}) => {
  console.log(`\n== ${title}`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit", ...options });
  if (error) console.error(error.message);
  return status === 0;
};

const failures = [];
const check = (title, command, args) => {
  if (!run(title, command, args)) failures.push(title);
};

if (everything) {
  check("types", bin("tsc"), ["-p", "."]);
  check("types of the page", bin("tsc"), ["-p", "web"]);
  check("lint", bin("biome"), ["check", "--error-on-warnings", "."]);
  check("import direction", process.execPath, ["scripts/check-imports.mjs"]);
}
if (!suites.includes("unit") || suites.length > 1) {
  check("build", process.execPath, ["scripts/build.mjs", "--if-stale"]);
  // Once, before the clock of any test runs: the first call may have to fetch it. A machine without one skips, or fails, test by test.
  run("Envoy", join(root, "bin/pilot-agent"), ["envoy", "path"]);
}

const scratch = mkdtempSync(join(tmpdir(), "pilot-agent-test-"));
const report = join(scratch, "report.json");
const projects = (everything ? SUITES.filter((name) => !OWN_RUNS.includes(name)) : suites).flatMap((name) => [
  "--project",
  name,
]);
// Much of the slow suite is waiting: for certificates to expire, for retries to be over.
const workers = suites.length === 1 && suites[0] === "slow" ? ["--maxWorkers=5"] : [];
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
if (!run("tests", bin("vitest"), ["run", ...projects, ...workers, ...reporters, ...extra])) failures.push("tests");

let counts = { passed: 0, failed: failures.length, skipped: 0 };
const reasons = new Map();
try {
  const { testResults } = JSON.parse(readFileSync(report, "utf8"));
  const tests = testResults.flatMap((file) => file.assertionResults);
  // A file can fail without any of its tests failing: it does not load, or leaves something open.
  const hasFailedTest = (file) => file.assertionResults.some((entry) => entry.status === "failed");
  const files = testResults.filter((file) => file.status === "failed" && !hasFailedTest(file)).length;
  const count = (...states) => tests.filter((entry) => states.includes(entry.status)).length;
  counts = {
    passed: count("passed"),
    failed: count("failed") + files,
    skipped: count("skipped", "pending", "todo", "disabled"),
  };
  for (const entry of tests.filter((candidate) => candidate.status === "skipped" || candidate.status === "pending")) {
    const reason = entry.meta?.skipReason ?? "no reason given";
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
} catch (thrown) {
  failures.push(`report of the tests: ${thrown.message}`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

if (reasons.size > 0) {
  console.log("\nSkipped, and what would let them run:");
  for (const [reason, times] of reasons) console.log(`  ${times} x ${reason}`);
}
const checksFailed = failures.filter((name) => name !== "tests");
if (checksFailed.length > 0) console.log(`\nFailed checks: ${checksFailed.join(", ")}`);
const failed = Math.max(counts.failed + checksFailed.length, failures.length > 0 ? 1 : 0);
console.log(`\n${counts.passed} passed, ${failed} failed, ${counts.skipped} skipped`);
process.exitCode = failed > 0 || counts.passed === 0 ? 1 : 0;
