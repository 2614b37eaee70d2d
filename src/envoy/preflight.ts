import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { runEnvoy } from "./run-envoy.ts";

const MAX_REASON_CHARS = 2_000;

const VALIDATION_TIMEOUT_MS = 10_000;

/** How Envoy is run, so that what it is asked beforehand or afterwards meets the same files and rights. */
export interface EnvoyCommand {
  readonly binaryPath: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** The caller has given up. */
  readonly signal?: AbortSignal;
}

/**
 * Lets Envoy check the configuration without serving it and returns its complaint, undefined when it has none. Used before a hot
 * restart, where a child that fails late takes the parent's admin port with it.
 */
export function validateConfig(command: EnvoyCommand): Promise<string | undefined> {
  return complaintOf(command, withoutEpochs(command.args), "validate");
}

/**
 * Why Envoy died at once, which it has written to the agent's own stderr, where the agent cannot read it. What a validation does not
 * see (a port in use) shows when it initializes everything and stops before serving; that needs the ports to itself.
 */
export async function explainEarlyDeath(command: EnvoyCommand, isAlone: boolean): Promise<string | undefined> {
  const complaint = await validateConfig(command);
  if (complaint !== undefined || !isAlone) return complaint;
  const args = withoutEpochs(command.args);
  return complaintOf(command, [...args.filter((flag) => flag !== NO_EPOCHS), NO_EPOCHS], "init_only");
}

const NO_EPOCHS = "--disable-hot-restart";

async function complaintOf(
  { binaryPath, env, user, signal }: EnvoyCommand,
  args: readonly string[],
  mode: "validate" | "init_only",
): Promise<string | undefined> {
  const result = await runEnvoy(binaryPath, [...args, "--mode", mode], {
    timeoutMs: VALIDATION_TIMEOUT_MS,
    env,
    user,
    signal,
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
  const remaining: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const flag = args[index] ?? "";
    if (flag === "--restart-epoch" || flag === "--base-id") index++;
    else remaining.push(flag);
  }
  return remaining;
}

/** Envoy's own words for why it does not start, from the output of a validation run; undefined when it names none. */
export function parseOwnReason(output: string): string | undefined {
  const text = output.replace(/\r/g, "");
  const reason =
    /^PARSE ERROR: Argument: (?<argument>.*)\n\s*(?<why>.*)$/m.exec(text)?.groups ??
    /error initializing configuration '[^']*': (?<why>[\s\S]*?)(?=\n\[\d{4}-|\n*$(?![\s\S]))/.exec(text)?.groups ??
    /\[critical\]\[[^\]]*\] (?:\[[^\]]*\] )?(?<why>[\s\S]*?)(?=\n\[\d{4}-|\n*$(?![\s\S]))/.exec(text)?.groups ??
    /^(?:error: |Assertion failed|terminate called)(?<why>.*)$/m.exec(text)?.groups;
  if (reason?.why === undefined) return lastLine(text);
  const whole = reason.argument === undefined ? reason.why : `${reason.argument}: ${reason.why}`;
  return whole.replace(/\s+/g, " ").trim().slice(0, MAX_REASON_CHARS);
}

/** Other programs and older versions at least end with the reason. Envoy's ordinary log lines are none. */
function lastLine(text: string): string | undefined {
  const line = text.trimEnd().split("\n").at(-1)?.trim() ?? "";
  if (line === "" || /^\[\d{4}-/.test(line)) return undefined;
  return line.slice(0, MAX_REASON_CHARS);
}
