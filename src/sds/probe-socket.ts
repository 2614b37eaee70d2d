import { lstat, rmdir, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { errorMessage } from "../base/coded-error.ts";
import { SdsError } from "./sds-error.ts";

const PROBE_MS = 1000;

/**
 * Whether a server is alive behind this socket. Only an HTTP/2 answer counts: a listener that accepts and stays silent is dead. A dead socket
 * is removed, so that the caller can bind the path; a regular file counts as absent and is left to the bind.
 */
export async function probeSocket(path: string, timeoutMs: number = PROBE_MS): Promise<"alive" | "absent"> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || found.isFile()) return "absent";
  if (!found.isDirectory() && (await answersHttp2(path, timeoutMs))) return "alive";
  try {
    // Container engines make an empty directory where a socket to mount is missing.
    await (found.isDirectory() ? rmdir(path) : unlink(path));
    return "absent";
  } catch (cause) {
    const text = `failed to check SDS socket: existing SDS socket could not be removed: ${errorMessage(cause)}`;
    throw new SdsError("socket-in-the-way", text, { cause });
  }
}

/** The server's SETTINGS frame is the first thing HTTP/2 makes it say; a client of the floor does not show that it came. */
async function answersHttp2(path: string, timeoutMs: number): Promise<boolean> {
  const { connect: connectHttp2 } = await import("node:http2");
  return new Promise((resolve) => {
    const socket = connect(path);
    const session = connectHttp2("http://localhost", { createConnection: () => socket });
    const settle = (alive: boolean) => {
      clearTimeout(timer);
      resolve(alive);
      session.destroy();
      socket.destroy();
    };
    const timer = setTimeout(() => settle(false), timeoutMs);
    session.once("remoteSettings", () => settle(true));
    session.on("error", () => settle(false));
    socket.on("error", () => settle(false));
    session.once("close", () => settle(false));
  });
}
