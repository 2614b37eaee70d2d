import { createLog } from "../../../src/base/log/log.ts";
import { type CliOptions, runCli } from "../../../src/cli/framework/run-cli.ts";

export interface CliOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Log lines, regardless of the log flags of the line. */
  readonly logged: readonly string[];
}

/** A command line in this process, with everything it prints. */
export async function runWords(given: Pick<CliOptions, "words" | "commands" | "env">): Promise<CliOutcome> {
  let [stdout, stderr] = ["", ""];
  const logged: string[] = [];
  const log = createLog(() => 0);
  const target = { write: (text: string) => void logged.push(text), close: () => undefined };
  log.configure({
    json: false,
    outputLevels: new Map(),
    stackLevels: new Map(),
    callerScopes: new Set(),
    targets: [target],
  });
  const code = await runCli({
    ...given,
    commandLine: given.words,
    log: { ...log, configure: () => undefined },
    signal: new AbortController().signal,
    onSignal: () => undefined,
    uptimeMs: () => 0,
    isTerminal: false,
    now: () => 0,
    print: (text) => {
      stdout += text;
    },
    printError: (text) => {
      stderr += text;
    },
  });
  return { code, stdout, stderr, logged };
}
