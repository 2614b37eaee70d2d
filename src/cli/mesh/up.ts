import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { type LogTarget, openLogTarget } from "../../base/log/log-targets.ts";
import { untilAborted } from "../../base/wait.ts";
import { EnvoyBinaryError, findEnvoy } from "../../envoy/index.ts";
import {
  type Isolation,
  type Mesh,
  proxylessShopFile,
  type Say,
  SHOP_TRIES,
  type StartMeshOptions,
  shopFile,
  startMesh,
} from "../../mesh/index.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { FILE_FLAG, type LoadedMeshFile, loadMeshFile, parseOrThrow, stateFolderOf, TARGET_FLAGS } from "./target.ts";
import { runningText, triesText } from "./up-text.ts";

const ISOLATIONS = ["auto", "namespaces", "none"] as const;
const READY_MS = 60_000;

export const command: Command = {
  name: "up",
  use: "up",
  short: "Starts a mesh and keeps it running until Ctrl-C",
  long: `Starts the control plane, its certificate authority and every workload of the mesh file, each with its agent and Envoy, and keeps
them running: a process that ends is started again. Ctrl-C (or pilot-agent mesh down) ends and removes all of it.`,
  example: `  # The demo shop
  pilot-agent mesh up --demo

  # The mesh of ./mesh.yaml
  pilot-agent mesh up`,
  flags: [
    FILE_FLAG,
    { name: "demo", type: "bool", default: false, usage: "Start the demo shop instead of a mesh file" },
    {
      name: "isolation",
      type: "string",
      default: "auto",
      usage: "How workloads are isolated: namespaces (needs root), none, or auto for the best that works",
    },
    {
      name: "called-as",
      type: "string",
      default: "pilot-agent",
      hidden: true,
      usage: "How the printed commands call this program",
    },
    ...TARGET_FLAGS,
  ],
  checkArgs: (args) => (args.length > 0 ? `accepts no arguments, received ${args.length}` : undefined),
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { flags, env, uptimeMs, isTerminal } = context;
  // A closed terminal ends a mesh as Ctrl-C does: it would run unseen and leave its namespaces behind.
  const ending = new AbortController();
  const { signal } = ending;
  context.onSignal(() => ending.abort());
  const { print, printError } = meshOutput(() => ending.abort());
  const say: Say = (level, text) => {
    const line = `${level === "info" ? "" : `${level}: `}${text}\n`;
    if (level === "info") print(line);
    else printError(isTerminal ? `\u001b[${level === "warn" ? 33 : 31}m${line.trimEnd()}\u001b[0m\n` : line);
  };
  const isDemo = flags.bool("demo");
  if (isDemo && flags.changed("file"))
    throw new Error("--demo and --file exclude each other: the demo has its own mesh file");
  const own = isDemo ? undefined : loadMeshFile(flags.string("file"));
  const envoy = await envoyBinary(context).catch((thrown: unknown) => withoutEnvoy(thrown, isDemo, say));
  const loaded = own ?? demo(envoy === undefined);
  const { file } = loaded;
  const folder = stateFolderOf(context, flags.string("name") || file.name);
  // Loaded here: the rules for Istio objects are most of the code, and `--help` needs none of it.
  const { validateConfig } = await import("./validator.ts");
  const options: StartMeshOptions = {
    file: { ...file, name: flags.string("name") || file.name },
    fileName: isDemo ? "demo" : flags.string("file"),
    directory: loaded.directory,
    watchedFile: isDemo ? undefined : loaded.path,
    stateFolder: folder.path,
    isolation: isolationOf(flags.string("isolation")),
    isRoot: process.getuid?.() === 0,
    proxyless: envoy === undefined,
    program: { launcher: launcherPath(), node: process.execPath, envoy: envoy ?? "" },
    env,
    appUser: sudoUser(env),
    validate: validateConfig,
    say,
    signal,
  };
  await using mesh = await startMesh(options);
  const tries = isDemo ? writeTries(folder.path) : undefined;
  const waiting = await mesh.untilReady(READY_MS);
  if (!signal.aborted)
    printSummary({
      mesh,
      waiting,
      tries,
      say,
      print,
      folder: folder.path,
      calledAs: flags.string("called-as"),
      uptimeMs,
    });
  await untilAborted(signal);
  print("\nending everything ...\n");
  await mesh.stop();
  print(`mesh ${mesh.plan.name} is down; its logs are in ${folder.logs}\n`);
  return 0;
}

interface Summary {
  readonly mesh: Mesh;
  readonly waiting: readonly string[];
  readonly tries: string | undefined;
  readonly say: Say;
  readonly folder: string;
  readonly calledAs: string;
  print(text: string): void;
  uptimeMs(): number;
}

function printSummary({ mesh, waiting, tries, say, print, folder, calledAs, uptimeMs }: Summary): void {
  for (const reason of waiting) say("warn", `not ready: ${reason}`);
  const state =
    waiting.length === 0 ? `ready after ${(uptimeMs() / 1000).toFixed(1)} s` : "up, but not all of it is ready";
  print(runningText(mesh.plan, { state, folder, calledAs }));
  if (tries !== undefined) print(triesText(mesh.plan, { tries, calledAs }));
  print("Ctrl-C ends everything.\n");
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

function isolationOf(text: string): "auto" | Isolation {
  const found = ISOLATIONS.find((each) => each === text);
  if (found === undefined)
    throw new Error(`--isolation is ${JSON.stringify(text)}, allowed are ${ISOLATIONS.join(", ")}`);
  return found;
}

/** The bundle lies in `dist`, this code in it or in a folder of it, and the launcher beside it in `bin`. */
function launcherPath(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const candidates = [dirname(here), dirname(dirname(here))].map((folder) => join(folder, "bin/pilot-agent"));
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`the launcher is none of ${candidates.join(", ")}; run npm run build`);
  return found;
}

async function envoyBinary({ env, isTerminal, printError }: CommandContext): Promise<string> {
  let shown = 0;
  const progress = (text: string) => {
    if (isTerminal) printError(`\r${text.padEnd(shown)}`);
    else if (shown === 0) printError(`${text}\n`);
    shown = text.length;
  };
  const found = await findEnvoy({
    explicit: undefined,
    env,
    isRoot: process.getuid?.() === 0,
    platform: `${process.platform}-${process.arch}`,
    install: true,
    progress,
  });
  if (shown > 0 && isTerminal) printError("\n");
  return found;
}

/** Behind sudo the applications stay with the user who called it. */
function sudoUser({ SUDO_UID, SUDO_GID }: CommandContext["env"]): StartMeshOptions["appUser"] {
  const isUser = [SUDO_UID, SUDO_GID].every((id) => /^\d+$/.test(id ?? ""));
  if (!isUser || SUDO_UID === "0" || process.getuid?.() !== 0) return undefined;
  return { uid: Number(SUDO_UID), gid: Number(SUDO_GID), hasGroups: true };
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
