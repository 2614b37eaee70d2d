import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { runProgram } from "../../../src/process/run-program.ts";
import { BINARIES, type Binary, binaryFolder, hasBinary, moduleFolder } from "./binaries.ts";

/**
 * Builds what is missing with the machine's Go, into the cache; a quarter of an hour for Kubernetes the first time, nothing after that.
 * Two callers at once both build, and the first one's result stays.
 */
export async function getBinaries(wanted: readonly Binary[], say: (line: string) => void): Promise<void> {
  for (const binary of wanted) {
    const folder = binaryFolder(binary);
    if (hasBinary(binary)) {
      say(`${binary}: ${folder}`);
      continue;
    }
    say(`${binary}: building`);
    const startedAt = performance.now();
    await build(binary, folder);
    say(`${binary}: ${folder}, built in ${Math.round((performance.now() - startedAt) / 1000)} s`);
  }
}

async function build(binary: Binary, folder: string): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true });
  const scratch = mkdtempSync(`${folder}.`);
  try {
    await compile(binary, join(scratch, binary));
    for (const name of BINARIES[binary].links) symlinkSync(binary, join(scratch, name));
    rename(scratch, folder, () => hasBinary(binary));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function compile(binary: Binary, output: string): Promise<void> {
  const { package: target, stamp } = BINARIES[binary];
  const args = ["build", "-mod=readonly", "-trimpath", `-ldflags=-s -w ${stamp}`, "-o", output, target];
  const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off" };
  const { code, error } = await runProgram("go", args, { cwd: moduleFolder(binary), env, output: process.stderr.fd });
  if (error !== undefined) throw new Error(`go cannot be run (${error.message}); Go 1.26 builds ${binary}`);
  if (code !== 0) throw new Error(`go build of ${binary} failed (exit code ${code})`);
}

function rename(from: string, to: string, isThere: () => boolean): void {
  try {
    renameSync(from, to);
  } catch (failure) {
    if (!isThere()) throw failure;
  }
}
