import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { type LogTarget, openLogTarget } from "../../base/log/log-targets.ts";
import { untilAborted } from "../../base/wait.ts";
import { CONSOLE_PORT, consolePageFolder } from "../../console/index.ts";
import { EnvoyBinaryError } from "../../envoy/index.ts";
import {
  isAlive,
  knownMeshes,
  type Mesh,
  type MeshFile,
  previewPlan,
  problemText,
  proxylessShopFile,
  type Say,
  SHOP_TRIES,
  type StartMeshOptions,
  type StateFolder,
  shopFile,
  startMesh,
  workloadNames,
} from "../../mesh/index.ts";
import { consoleAddress } from "../../settings/console.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { namesInFile } from "./complete.ts";
import { ruleTexts } from "./rule-texts.ts";
import {
  defaultHome,
  FILE_FLAG,
  homeOf,
  type LoadedMeshFile,
  loadMeshFile,
  parseOrThrow,
  stateFolderOf,
  stateOf,
  TARGET_FLAGS,
} from "./target.ts";
import { createReporter, DETACH_FLAGS, REPORT_FD, startDetached } from "./up-detached.ts";
import { envoyBinary, launcherPath, programCall, sudoUser } from "./up-program.ts";
import { isInside, machineOfOutside, upInUserNamespace, withoutMark } from "./up-rootless.ts";
import { type MeshCall, runningText, triesText } from "./up-text.ts";
import { createUpView, type UpView } from "./up-view.ts";
import { readWatches, WATCH_FLAGS } from "./up-watch.ts";
import { noArguments, oneOf, UsageMistake } from "./usage-mistake.ts";

const ISOLATIONS = ["auto", "namespaces", "none"] as const;
const READY_MS = 60_000;
const DEFAULT_COLUMNS = 80;

export const command: Command = {
  name: "up",
  use: "up",
  short: "Starts a mesh and keeps it running until Ctrl-C",
  long: `Starts the control plane, its certificate authority and every workload of the mesh file, each with its agent and Envoy, and keeps
them running: a process that ends is started again. Ctrl-C (or pilot-agent mesh down) ends and removes all of it.`,
  example: `  # The demo shop
  pilot-agent mesh up --demo

  # The mesh of ./mesh.yaml
  pilot-agent mesh up

  # In the background: returns when all of it is ready
  pilot-agent mesh up -d

  # Follow changes of mesh.yaml, and restart the application of front when a file of its directory changes
  pilot-agent mesh up --watch --watch-app front`,
  flags: [
    FILE_FLAG,
    { name: "demo", type: "bool", default: false, usage: "Start the demo shop instead of a mesh file" },
    {
      name: "isolation",
      type: "string",
      default: "auto",
      values: ISOLATIONS,
      usage:
        "How workloads are isolated: namespaces (root, or a kernel that gives users namespaces), none, or auto for the best that works",
    },
    { name: "quiet", short: "q", type: "bool", default: false, usage: "Do not show the output of the applications" },
    {
      name: "attach",
      type: "stringArray",
      default: [],
      values: namesInFile,
      usage: "Show the output of this workload, or of all of this service, alone; may be repeated",
    },
    ...DETACH_FLAGS,
    ...WATCH_FLAGS,
    {
      name: "called-as",
      type: "string",
      default: "",
      hidden: true,
      usage: "How the printed commands call this program",
    },
    {
      name: "console",
      type: "string",
      default: String(CONSOLE_PORT),
      usage:
        "Where the console is served: a port of this machine (the next free one when the default is taken), HOST:PORT, or off",
    },
    ...TARGET_FLAGS,
  ],
  checkArgs: noArguments,
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { flags, env, isTerminal } = context;
  // A closed terminal ends a mesh as Ctrl-C does: it would run unseen and leave its namespaces behind.
  const ending = new AbortController();
  const { signal } = ending;
  const end = () => ending.abort();
  context.onSignal(end);
  const view = createUpView({
    ...meshOutput(end),
    isTerminal,
    hasColours: isTerminal && !env.NO_COLOR,
    columns: process.stdout.columns || DEFAULT_COLUMNS,
    now: Date.now,
  });
  if (!flags.bool("reports")) return runMesh({ context, view, signal, end });
  const reporter = createReporter(view);
  try {
    return await runMesh({ context, view: reporter, signal, end, onStarted: reporter.started });
  } catch (thrown) {
    reporter.failed(thrown);
    throw thrown;
  }
}

interface UpRun {
  readonly context: CommandContext;
  readonly view: UpView;
  readonly signal: AbortSignal;
  /** As Ctrl-C does. */
  end(): void;
  /** Set in the background: called with what is not ready when the start is over. */
  onStarted?(waiting: readonly string[]): void;
}

async function runMesh(run: UpRun): Promise<number> {
  const { context, view, signal } = run;
  const { flags, env } = context;
  const { say } = view;
  const isDemo = flags.bool("demo");
  if (isDemo && flags.changed("file"))
    throw new UsageMistake("--demo and --file exclude each other: the demo has its own mesh file");
  const isolation = oneOf("isolation", flags.string("isolation"), ISOLATIONS);
  const own = isDemo ? undefined : loadMeshFile(flags.string("file"), env);
  const envoy = await envoyBinary(context).catch((thrown: unknown) => withoutEnvoy(thrown, isDemo, say));
  const loaded = own ?? demo(envoy === undefined);
  const { file } = loaded;
  const folder = stateFolderOf(context, flags.string("name") || file.name);
  const watches = readWatches(flags, loaded);
  if (flags.bool("detach"))
    return startDetached({ context, specs: command.flags, launcher: launcherPath(), folder, view, signal });
  if (isolation === "namespaces" && process.getuid?.() !== 0 && envoy !== undefined) {
    const passedOn = run.onStarted === undefined ? [] : [REPORT_FD];
    return upInUserNamespace(context, { launcher: launcherPath(), envoy, stateDir: homeOf(context), passedOn });
  }
  const machine = machineOfOutside(env, run.end);
  await reviewFile(loaded, isDemo ? "demo" : flags.string("file"), say);
  // Loaded here: the rules for Istio objects are most of the code, and `--help` needs none of it.
  const { validateConfig } = await import("./validator.ts");
  const isShown = !flags.bool("quiet") && run.onStarted === undefined;
  const options: StartMeshOptions = {
    file: { ...file, name: flags.string("name") || file.name },
    fileName: isDemo ? "demo" : flags.string("file"),
    directory: loaded.directory,
    watchedFile: isDemo ? undefined : loaded.path,
    ...watches,
    stateFolder: folder.path,
    isolation,
    isRoot: process.getuid?.() === 0,
    machine,
    proxyless: envoy === undefined,
    program: { launcher: launcherPath(), node: process.execPath, envoy: envoy ?? "" },
    env: withoutMark(env),
    appUser: machine === undefined ? sudoUser(env) : undefined,
    validate: validateConfig,
    ...consoleOptions(context, view.print),
    say,
    ...(isShown ? { onOutput: attached(file, flags.stringArray("attach"), view.output) } : {}),
    onProgress: view.progress,
    signal,
  };
  await using mesh = await startMesh(options).catch((thrown: unknown) => {
    // What had been started is gone again; whoever pressed Ctrl-C knows why.
    if (signal.aborted) return undefined;
    view.settle();
    throw thrown;
  });
  if (mesh === undefined) {
    view.settle();
    view.print(`mesh ${options.file.name} was ended before it was up\n`);
    return 0;
  }
  const tries = isDemo ? writeTries(folder.path) : undefined;
  const waiting = await mesh.untilReady(READY_MS);
  view.settle(waiting.length === 0);
  if (!signal.aborted) printSummary(run, { mesh, waiting, tries, folder });
  run.onStarted?.(waiting);
  await untilAborted(signal);
  view.print("\nending everything ...\n");
  await mesh.stop();
  view.print(`mesh ${mesh.plan.name} is down; its logs are in ${folder.logs}\n`);
  return 0;
}

/** The default moves to the next free port; a port that somebody has chosen is the only one. */
function consoleOptions({ flags }: CommandContext, print: (text: string) => void): Pick<StartMeshOptions, "console"> {
  const text = flags.string("console");
  if (text === "off") return {};
  return {
    console: {
      listen: consoleAddress(text),
      takesNextPort: !flags.changed("console"),
      pageFolder: consolePageFolder(import.meta.url),
      onLink: (link) => print(`Console: ${link}\n\n`),
    },
  };
}

interface Summary {
  readonly mesh: Mesh;
  readonly waiting: readonly string[];
  readonly tries: string | undefined;
  readonly folder: StateFolder;
}

function printSummary({ context, view, onStarted }: UpRun, { mesh, waiting, tries, folder }: Summary): void {
  for (const reason of waiting) view.say("warn", `not ready: ${reason}`);
  const state =
    waiting.length === 0 ? `ready after ${(context.uptimeMs() / 1000).toFixed(1)} s` : "up, but not all of it is ready";
  const { plan } = mesh;
  const call = callOf(context, plan.name);
  const hasConsole = context.flags.string("console") !== "off";
  view.print(runningText(plan, { state, folder: folder.path, call, hasConsole, mesh }));
  if (tries !== undefined) view.print(triesText(plan, { tries, call }));
  const end =
    onStarted === undefined ? "Ctrl-C ends everything." : `It runs in the background: ${call("down")} ends it.`;
  view.print(`${end}\n`);
}

/** Rules that name what is not there do not stop the start; a line now saves the search for the cause later. */
async function reviewFile({ file, directory }: LoadedMeshFile, fileName: string, say: Say): Promise<void> {
  for (const notice of file.notices) say("warn", problemText(notice, fileName));
  const { texts } = ruleTexts(file, { fileName, directory });
  // The demo's own rules are right.
  if (texts.length === 0 || fileName === "demo") return;
  const { reviewRules } = await import("./review.ts");
  const { errors, warnings } = await reviewRules(previewPlan(file), texts);
  for (const line of [...errors, ...warnings]) say("warn", line);
}

/** Of the named workloads and services, or of all. */
function attached(file: MeshFile, names: readonly string[], show: UpView["output"]): UpView["output"] {
  const known = workloadNames(file);
  const unknown = names.find((name) => !known.some((each) => each.name === name || each.service === name));
  if (unknown !== undefined) {
    throw new UsageMistake(
      `--attach is ${JSON.stringify(unknown)}; there are ${known.map(({ name }) => name).join(", ")}`,
    );
  }
  if (names.length === 0) return show;
  const wanted = new Set(
    known.filter(({ name, service }) => names.includes(name) || names.includes(service)).map(({ name }) => name),
  );
  return (workload, text) => {
    if (wanted.has(workload)) show(workload, text);
  };
}

/** Printed commands work where they are printed, also when a second mesh is there: called as this one was, and about this mesh. */
function callOf(context: CommandContext, name: string): MeshCall {
  const { flags, env } = context;
  const program = flags.string("called-as") || programCall({ env, launcher: launcherPath(), cwd: process.cwd() });
  const home = homeOf(context);
  const isAlone = knownMeshes(home).every((each) => each === name || !isRunning(stateOf(join(home, each))));
  const usual = defaultHome(env, process.getuid?.() === 0 && !isInside(env));
  const stateDir = !flags.changed("state-dir") || home === usual ? [] : ["--state-dir", home];
  return (words) =>
    [program, "mesh", words, ...(isAlone && !flags.changed("name") ? [] : ["--name", name]), ...stateDir].join(" ");
}

function isRunning(state: ReturnType<typeof stateOf>): boolean {
  return state !== undefined && state !== "unreadable" && isAlive(state.parent);
}

function demo(isProxyless: boolean): LoadedMeshFile {
  const text = isProxyless ? proxylessShopFile() : shopFile();
  return { file: parseOrThrow(text, "demo"), path: "", directory: process.cwd() };
}

/** The demo can do without; a mesh of somebody's own applications cannot. */
function withoutEnvoy(thrown: unknown, isDemo: boolean, say: Say): undefined {
  if (!isDemo || !(thrown instanceof EnvoyBinaryError)) throw thrown;
  say("warn", `there is no Envoy to be had: ${errorMessage(thrown)}`);
  say("warn", "the demo runs without it: gRPC programs that take routes, endpoints and certificates from their agents");
}

function writeTries(folder: string): string {
  const path = join(folder, "try");
  mkdirSync(path, { recursive: true });
  for (const [name, text] of Object.entries(SHOP_TRIES)) writeFileSync(join(path, name), text);
  return path;
}

/**
 * Where `mesh up` writes. A reader that has gone (`| head`, a closed terminal) must not end the process on the spot, as it does other
 * commands: namespaces and processes would stay behind. A full disk behind the output is no reason to end at all.
 */
export function meshOutput(
  onReaderGone: () => void,
  open: (name: "stdout" | "stderr") => LogTarget = openLogTarget,
): Pick<CommandContext, "print" | "printError"> {
  const to = (target: LogTarget) => (text: string) => {
    try {
      target.write(text);
    } catch (thrown) {
      const code = errorCode(thrown);
      if (code === "EPIPE" || code === "EIO") onReaderGone();
    }
  };
  return { print: to(open("stdout")), printError: to(open("stderr")) };
}
