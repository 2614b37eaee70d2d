import { type ChildProcess, fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { type ProcessFigures, processFigures } from "./process-figures.ts";

/** A TypeScript file running as a process of its own, measured from outside. */
export interface BenchChild extends AsyncDisposable, ProcessFigures {
  readonly process: ChildProcess;
  /** Resolves with the next message the child sends. */
  next<Message>(): Promise<Message>;
}

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
  return {
    process: child,
    next: <Message>() =>
      new Promise<Message>((done) => {
        if (queue.length > 0) done(queue.shift() as Message);
        else waiting.push((message) => done(message as Message));
      }),
    ...processFigures(child.pid ?? 0),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
}
