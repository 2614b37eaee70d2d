import { lstatSync, type Stats, unlinkSync } from "node:fs";
import { connect } from "node:net";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { ListenError } from "./listen-error.ts";

/** sun_path of Linux holds 108 bytes with the closing NUL. */
const MAX_PATH_BYTES = 107;

/**
 * `stale`: only a socket file without a listener is replaced; anything else at the path fails the start.
 * `always`: every file or socket is replaced, even one that is served; a directory still fails the start.
 */
export type ReplacePolicy = "stale" | "always";

export function checkSocketPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes > 0 && bytes <= MAX_PATH_BYTES) return;
  const text = `the unix socket path ${JSON.stringify(path)} has ${bytes} bytes; 1 to ${MAX_PATH_BYTES} are allowed`;
  throw new ListenError("path-too-long", text);
}

/** Makes the path free to bind, or throws a ListenError that says what is in the way. */
export async function clearSocketPath(path: string, replace: ReplacePolicy): Promise<void> {
  const found = lookAt(path);
  if (found === undefined) return;
  if (replace === "stale") {
    if (!found.isSocket())
      throw new ListenError("not-a-socket", `${path} exists and is not a socket; it is not replaced`);
    if (await isServed(path)) throw new ListenError("address-in-use", `another process listens on ${path}`);
  }
  try {
    unlinkSync(path);
  } catch (cause) {
    if (errorCode(cause) === "ENOENT") return; // removed by another process meanwhile
    throw new ListenError("listen-failed", `cannot remove ${path}: ${errorMessage(cause)}`, { cause });
  }
}

function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw new ListenError("listen-failed", `cannot look at ${path}: ${errorMessage(cause)}`, { cause });
  }
}

function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (served: boolean) => {
      socket.destroy();
      resolve(served);
    };
    socket.once("connect", () => settle(true));
    // A full backlog (EAGAIN) or a forbidden path (EACCES) still has an owner; only a refusal means that there is none.
    socket.once("error", (failure) => settle(!["ECONNREFUSED", "ENOENT"].includes(errorCode(failure) ?? "")));
  });
}
