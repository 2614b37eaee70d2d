import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { CHAIN_FILE, KEY_FILE, type OutputFiles, ROOT_FILE } from "../../../src/identity/output/output-version.ts";
import { createTestCa, SPIFFE_ID } from "../certs/test-ca.ts";
import { type TemporaryFolder, temporaryFolder } from "./temporary-folder.ts";

export const outputCa = await createTestCa();

/** A directory for each test of the file that calls this; the function gives paths in it. */
export function useOutputDirectory(): (...parts: string[]) => string {
  let directory: TemporaryFolder;
  beforeEach(async () => {
    directory = temporaryFolder();
  });
  afterEach(() => directory[Symbol.asyncDispose]());
  return (...parts) => join(directory.path, ...parts);
}

/** The three files of a newly issued certificate. */
export async function newOutputFiles(): Promise<OutputFiles> {
  const { cert, key } = await outputCa.pair([SPIFFE_ID]);
  return new Map([
    [KEY_FILE, Buffer.from(key)],
    [CHAIN_FILE, Buffer.from(cert)],
    [ROOT_FILE, Buffer.from(outputCa.rootPem)],
  ] as const);
}
