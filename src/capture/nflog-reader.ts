import { once } from "node:events";
import { errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { spawnProgram } from "../process/spawn-program.ts";
import { createPcapReader, decodeNflog } from "./core/nflog-packet.ts";

export interface NflogReaderOptions {
  readonly log: Logger;
  readonly group?: number;
  /** The program that reads the group; another name makes it missing in tests. */
  readonly program?: string;
}

export interface NflogReader extends Handle {
  /** False when the reader could not start; one warning was logged. */
  readonly isReading: boolean;
}

/**
 * Logs every packet that the trace rules copy to NFLOG, until stopped. Node has no netlink sockets, so tcpdump reads the group; without it
 * there is one warning and nothing else: tracing must never keep the agent from running.
 */
export async function startNflogReader({
  log,
  group = 1337,
  program = "tcpdump",
}: NflogReaderOptions): Promise<NflogReader> {
  const child = spawnProgram(program, ["-i", `nflog:${group}`, "-U", "-w", "-"], { stdio: ["ignore", "pipe", "pipe"] });
  const said: Buffer[] = [];
  child.stderr?.on("data", (chunk: Buffer) => said.push(chunk));
  child.stdout?.on(
    "data",
    createPcapReader((record) => {
      const packet = decodeNflog(record);
      if (packet !== undefined) log.info("packet", { ...packet });
    }),
  );
  const closed = once(child, "close").then(() => undefined);
  closed.catch(() => undefined);
  const outcome = await Promise.race([
    once(child, "error").then(([error]) => errorMessage(error)),
    closed.then(() => Buffer.concat(said).toString().trim() || "it ended at once"),
    listening(child.stderr),
  ]).catch((thrown: unknown) => errorMessage(thrown));
  if (outcome !== undefined)
    log.warn(`traced packets are not logged: ${program} cannot read NFLOG group ${group}: ${outcome}`);
  const isReading = outcome === undefined;
  return toHandle({
    isReading,
    // Tracing that ends is reported, but is no reason to end with it.
    ended: isReading ? closed : Promise.resolve(),
    stop: async () => {
      if (!isReading || child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      await closed;
    },
  });
}

/** tcpdump says on stderr when it listens. */
async function listening(stderr: NodeJS.ReadableStream | null): Promise<undefined> {
  let text = "";
  await new Promise<void>((resolve) => {
    stderr?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("listening on")) resolve();
    });
  });
  return undefined;
}
