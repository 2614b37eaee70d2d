import { readlinkSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { errorCode } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { wait } from "../base/wait.ts";
import { CaptureError } from "./capture-error.ts";

const LIMIT_MS = 30_000;
const RETRY_MS = 20;

export interface CaptureLockOptions {
  /** The `/proc/.../net` folder of the network that is programmed. */
  readonly procNet: string;
  readonly log: Logger;
  readonly limitMs?: number;
}

export interface CaptureLock extends AsyncDisposable {
  /** Another command had it: what was seen before may be different now. */
  readonly hasWaited: boolean;
}

/**
 * One capture command at a time per network: iptables-nft-restore repeats its work when another one commits in between, and then writes
 * rules twice without noticing. An abstract socket is the lock: the kernel gives it to one process and takes it back when that dies.
 */
export async function takeCaptureLock({ procNet, log, limitMs = LIMIT_MS }: CaptureLockOptions): Promise<CaptureLock> {
  const name = `\0pilot-agent/capture/${networkId(procNet)}`;
  const deadline = performance.now() + limitMs;
  for (let tries = 0; ; tries += 1) {
    const lock = await listen(name);
    if (lock !== undefined) return { ...lock, hasWaited: tries > 0 };
    if (tries === 0) log.warn("another traffic capture command is changing this network, waiting for it to end");
    if (performance.now() > deadline) {
      throw new CaptureError("busy", `another traffic capture command did not end within ${limitMs / 1000}s`);
    }
    await untilReleased(name);
  }
}

/** The kernel's name of the namespace; without /proc the folder itself has to tell networks apart. */
function networkId(procNet: string): string {
  try {
    return readlinkSync(join(procNet, "../ns/net"));
  } catch {
    return procNet;
  }
}

/** Undefined when somebody else has the name. */
function listen(name: string): Promise<AsyncDisposable | undefined> {
  const waiting = new Set<Socket>();
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      waiting.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => waiting.delete(socket));
    });
    server.on("error", (error) => (errorCode(error) === "EADDRINUSE" ? resolve(undefined) : reject(error)));
    server.listen({ path: name }, () => resolve({ [Symbol.asyncDispose]: () => close(server, waiting) }));
  });
}

/** The holder's end closes our connection; a holder that does not answer is asked again a little later. */
async function untilReleased(name: string): Promise<void> {
  await new Promise<void>((resolve) => {
    const socket = connect({ path: name });
    const timer = setTimeout(() => socket.destroy(), 1000);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve();
    });
  });
  await wait(RETRY_MS);
}

/** A waiting process learns of the release by the end of its connection. */
function close(server: Server, waiting: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of waiting) socket.destroy();
  });
}
