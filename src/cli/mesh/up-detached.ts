import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { errorMessage } from "../../base/coded-error.ts";
import { MeshError, refuseHeld, type StateFolder, type WorkloadProgress } from "../../mesh/index.ts";
import { spawnProgram } from "../../process/spawn-program.ts";
import type { CommandContext } from "../framework/command.ts";
import { flagValue } from "../framework/flag-values.ts";
import type { FlagSpec } from "../framework/flags.ts";
import type { UpView } from "./up-view.ts";
import { UsageMistake } from "./usage-mistake.ts";

/** The descriptor on which `mesh up` in the background reports to the one that has started it; the third may be Node's own channel. */
export const REPORT_FD = 4;

export const DETACH_FLAGS: readonly FlagSpec[] = [
  {
    name: "detach",
    short: "d",
    type: "bool",
    default: false,
    usage: "Run in the background: return when everything is ready; pilot-agent mesh down ends it",
  },
  { name: "reports", type: "bool", default: false, hidden: true, usage: "Report to the mesh up that has started this" },
];

/** What is shown, as it happens; the last one says that the start is over. */
type Report =
  | { readonly say: string; readonly level: "info" | "warn" | "error" }
  | { readonly print: string }
  | { readonly progress: readonly WorkloadProgress[] }
  | { readonly failure: string }
  | { readonly waiting: readonly string[] };

/** The view of a mesh in the background, whose own output is a log file, and whose starter sees the same. */
export interface Reporter extends UpView {
  /** The start is over, with what is not ready; nothing is read from now on. */
  started(waiting: readonly string[]): void;
  failed(thrown: unknown): void;
}

export function createReporter(view: UpView): Reporter {
  let isHeard = true;
  const report = (sent: Report) => {
    if (!isHeard) return;
    try {
      writeSync(REPORT_FD, `${JSON.stringify(sent)}\n`);
    } catch {
      // Whoever has started this has been killed; the mesh goes on.
      isHeard = false;
    }
  };
  return {
    say(level, text) {
      report({ level, say: text });
      view.say(level, text);
    },
    print(text) {
      report({ print: text });
      view.print(text);
    },
    output: view.output,
    progress(rows) {
      report({ progress: rows });
      view.progress(rows);
    },
    settle: view.settle,
    started(waiting) {
      report({ waiting });
      if (isHeard) closeSync(REPORT_FD);
      isHeard = false;
    },
    failed: (thrown) => report({ failure: errorMessage(thrown) }),
  };
}

export interface DetachedOptions {
  readonly context: CommandContext;
  readonly specs: readonly FlagSpec[];
  readonly launcher: string;
  readonly folder: StateFolder;
  readonly view: UpView;
  /** Ctrl-C ends what has been started so far. */
  readonly signal: AbortSignal;
}

/** Starts `mesh up` with the same flags in a session of its own. Resolves to the exit code when its start is over. */
export async function startDetached(options: DetachedOptions): Promise<number> {
  const { context, specs, launcher, folder, view, signal } = options;
  const { flags } = context;
  if (flags.changed("attach"))
    throw new UsageMistake("--detach and --attach exclude each other: mesh logs -f shows the output of applications");
  if (flags.string("file") === "-")
    throw new UsageMistake("--detach needs a mesh file that can be read again, not standard input");
  refuseHeld(folder.lockFile);
  const log = openLog(folder);
  const child = spawnProgram(launcher, ["mesh", "up", "--reports", ...givenWords(context, specs)], {
    stdio: ["ignore", log, log, "ignore", "pipe"],
    detached: true,
  });
  closeSync(log);
  const exited = new Promise<number>((done, fail) => {
    child.once("error", fail);
    child.once("exit", (code) => done(code ?? 1));
  });
  exited.catch(() => undefined);
  const end = () => void child.kill("SIGTERM");
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  let failure: string | undefined;
  for await (const line of createInterface({ input: child.stdio[REPORT_FD] as NodeJS.ReadableStream })) {
    const sent = JSON.parse(line) as Report;
    if ("waiting" in sent) {
      view.settle();
      return sent.waiting.length === 0 ? 0 : 1;
    }
    if ("failure" in sent) failure = sent.failure;
    else show(view, sent);
  }
  const code = await exited;
  view.settle();
  if (failure !== undefined) context.printError(`Error: ${failure}\n`);
  else if (code !== 0)
    context.printError(`Error: mesh up ended with exit code ${code}; its output is in ${folder.upLog}\n`);
  return code;
}

function show(
  view: UpView,
  sent: Exclude<Report, { readonly waiting: unknown } | { readonly failure: unknown }>,
): void {
  if ("say" in sent) view.say(sent.level, sent.say);
  else if ("print" in sent) view.print(sent.print);
  else view.progress(sent.progress);
}

/** Of its owner alone: the link to the console is in it. */
function openLog({ path, upLog }: StateFolder): number {
  try {
    mkdirSync(path, { recursive: true, mode: 0o755 });
    return openSync(upLog, "w", 0o600);
  } catch (thrown) {
    throw new MeshError("state", `cannot write ${upLog}: ${errorMessage(thrown)}`, { cause: thrown });
  }
}

function givenWords({ flags }: CommandContext, specs: readonly FlagSpec[]): readonly string[] {
  return specs
    .filter(({ name }) => name !== "detach" && flags.changed(name))
    .flatMap((spec) => [flagValue(flags, spec)].flat().map((value) => `--${spec.name}=${value}`));
}
