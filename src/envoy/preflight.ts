import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { parseOwnReason } from "./core/own-reason.ts";
import { runProgram } from "./run-program.ts";

const VALIDATION_TIMEOUT_MS = 10_000;

/**
 * Lets Envoy check the configuration without serving it and returns its complaint, undefined when it has none. Used before a hot
 * restart, where a child that fails late takes the parent's admin port with it, and after an early death, whose reason Envoy has
 * written to the agent's own stderr, where the agent cannot read it.
 */
export async function validateConfig(
  binaryPath: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const result = await runProgram(binaryPath, [...withoutEpochs(args), "--mode", "validate"], {
    timeoutMs: VALIDATION_TIMEOUT_MS,
    env,
    outputFolders: [tmpdir(), ...configFolder(args)],
  });
  if (result.code === 0 || result.signal === "SIGKILL") return undefined;
  if (result.error !== undefined) return result.error.message;
  return parseOwnReason(result.output) ?? `validation ended with exit status ${result.code ?? result.signal}`;
}

/** Writable for the agent, which has just written the file there; /tmp is not in a container with a read-only root. */
function configFolder(args: readonly string[]): string[] {
  const file = args[args.indexOf("-c") + 1];
  return args.includes("-c") && file !== undefined ? [dirname(file)] : [];
}

/** A validating Envoy must not touch the running one's shared memory. */
function withoutEpochs(args: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const flag = args[index] ?? "";
    if (flag === "--restart-epoch" || flag === "--base-id") index++;
    else kept.push(flag);
  }
  return kept;
}
