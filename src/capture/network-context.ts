import { once } from "node:events";
import { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { type ChildProcess, spawnProgram } from "../process/spawn-program.ts";
import { CaptureError } from "./capture-error.ts";
import type { RunProgram } from "./run-program.ts";

/** Where programs run: our own network, or another namespace, and in CNI mode with a mount namespace of their own. */
export interface NetworkContext extends AsyncDisposable {
  readonly run: RunProgram;
  /** The `/proc/.../net` folder of the network that is programmed. */
  readonly procNet: string;
  /** A lock of the pod instead of the machine-wide one; CNI mode only. */
  readonly lockFile: string | undefined;
}

export interface NetworkContextOptions {
  readonly networkNamespace: string;
  readonly cniMode: boolean;
  readonly run: RunProgram;
  readonly log: Logger;
}

/** Rejects when the named namespace cannot be entered; an unavailable sandbox is only worth a warning. */
export async function openNetworkContext(options: NetworkContextOptions): Promise<NetworkContext> {
  const { networkNamespace, cniMode, run, log } = options;
  const here: NetworkContext = {
    run,
    procNet: "/proc/self/net",
    lockFile: undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
  if (networkNamespace === "" && !cniMode) return here;
  await using opened = new CloseStack();
  const enter = networkNamespace === "" ? [] : [`--net=${networkNamespace}`];
  let holder = await startHolder([...enter], cniMode).catch((thrown) => errorMessage(thrown));
  if (typeof holder === "string" && cniMode) {
    log.warn(`cannot isolate the programs that are run, going on without: ${holder}`);
    holder = networkNamespace === "" ? holder : await startHolder(enter, false).catch((thrown) => errorMessage(thrown));
    if (networkNamespace === "") return here;
  }
  if (typeof holder === "string") {
    throw new CaptureError("namespace-failed", `cannot enter network namespace ${networkNamespace}: ${holder}`);
  }
  const { pid, child, isolated } = holder;
  opened.defer(() => stopHolder(child));
  const lockFile = cniMode && networkNamespace !== "" ? networkNamespace : undefined;
  const prefix = [
    "-t",
    String(pid),
    "-n",
    "-m",
    "--",
    ...(lockFile === undefined ? [] : ["env", `XTABLES_LOCKFILE=${lockFile}`]),
  ];
  const inside: RunProgram = (call) =>
    run({ ...call, program: "nsenter", args: [...prefix, call.program, ...call.args] });
  if (isolated) await isolate(inside, lockFile, log);
  const owned = opened.move();
  return {
    // A missing program shows as a failure of the wrapper, which must keep its meaning for the callers.
    run: async (call) => {
      const result = await inside(call);
      if (result.code !== 127) return result;
      const failure = `exec: "${call.program}": executable file not found in $PATH`;
      return { ...result, code: undefined, missing: true, failure };
    },
    procNet: `/proc/${pid}/net`,
    lockFile,
    [Symbol.asyncDispose]: () => owned.close(),
  };
}

interface Holder {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly isolated: boolean;
}

/** A `cat` that keeps the namespaces alive; its echo proves that it runs inside them. It ends with its input. */
async function startHolder(enter: readonly string[], isolated: boolean): Promise<Holder> {
  const unshare = isolated ? ["unshare", "--mount", "--propagation", "private"] : [];
  const words = [...(enter.length > 0 ? ["nsenter", ...enter, "--"] : []), ...unshare, "cat"];
  const [program = "cat", ...args] = words;
  const child = spawnProgram(program, args, { stdio: ["pipe", "pipe", "pipe"] });
  const said: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => said.push(chunk));
  child.stdin.on("error", () => undefined);
  child.stdin.write("\n");
  const ready = once(child.stdout, "data").then(() => "ready");
  const ended = once(child, "close").then(() => Buffer.concat(said).toString().trim() || "the program ended at once");
  ready.catch(() => undefined);
  const outcome = await Promise.race([ready, ended]);
  if (outcome !== "ready") throw new Error(outcome);
  ended.catch(() => undefined);
  return { pid: child.pid ?? 0, child, isolated };
}

async function stopHolder(child: ChildProcess): Promise<void> {
  // One that was killed has no exit code either, and would be waited for forever.
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, "close");
  child.stdin?.end();
  await closed;
}

/**
 * Owner matches must not make a program of the host ask a directory service for user names, and legacy programs before 1.8.6 know no other
 * lock than the machine's: the pod's own is laid over it.
 */
async function isolate(inside: RunProgram, lockFile: string | undefined, log: Logger): Promise<void> {
  const nameService = ["--bind", "-o", "ro", "/dev/null", "/etc/nsswitch.conf"];
  const { code, stderr } = await inside({ program: "mount", args: nameService });
  if (code !== 0) log.warn(`cannot hide /etc/nsswitch.conf from the programs that are run: ${stderr.trim()}`);
  if (lockFile !== undefined) await inside({ program: "mount", args: ["--bind", lockFile, "/run/xtables.lock"] });
}
