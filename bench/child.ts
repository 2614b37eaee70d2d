import { type ChildProcess, fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";

/** A TypeScript file running as a process of its own, measured from outside. */
export interface BenchChild extends AsyncDisposable {
  readonly process: ChildProcess;
  /** Resolves with the next message the child sends. */
  next<Message>(): Promise<Message>;
  cpuSeconds(): number;
  /** Megabytes: resident now, its highest value so far, and private (anonymous) now. */
  memory(): { readonly rss: number; readonly peakRss: number; readonly anonymous: number };
}

const CLOCK_TICKS = 100;

/** Bundles and starts `entry`, a path below bench/. */
export async function startChild(
  entry: string,
  args: readonly string[] = [],
  execArgv: readonly string[] = [],
): Promise<BenchChild> {
  const folder = await mkdtemp(join(tmpdir(), "pilot-agent-bench-"));
  const outfile = join(folder, "child.mjs");
  const root = resolve(import.meta.dirname, "..");
  await build({
    absWorkingDir: root,
    entryPoints: [join("bench", entry)],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    minifySyntax: true,
    minifyWhitespace: true,
    banner: {
      js: `import{createRequire as __r}from"node:module";const require=__r(${JSON.stringify(join(root, "package.json"))});`,
    },
    logLevel: "warning",
  });
  const child = fork(outfile, [...args], { execArgv: [...execArgv] });
  const queue: unknown[] = [];
  const waiting: ((message: unknown) => void)[] = [];
  child.on("message", (message) => {
    const waiter = waiting.shift();
    if (waiter === undefined) queue.push(message);
    else waiter(message);
  });
  const file = (name: string) => readFileSync(`/proc/${child.pid}/${name}`, "utf8");
  const kilobytes = (name: string, key: string) =>
    Number(new RegExp(`${key}:\\s+(\\d+)`).exec(file(name))?.[1] ?? Number.NaN) / 1024;
  return {
    process: child,
    next: <Message>() =>
      new Promise<Message>((done) => {
        if (queue.length > 0) done(queue.shift() as Message);
        else waiting.push((message) => done(message as Message));
      }),
    cpuSeconds() {
      const fields = file("stat")
        .slice(file("stat").lastIndexOf(")") + 2)
        .split(" ");
      return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
    },
    memory: () => ({
      rss: kilobytes("status", "VmRSS"),
      peakRss: kilobytes("status", "VmHWM"),
      anonymous: kilobytes("smaps_rollup", "Anonymous"),
    }),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
}
