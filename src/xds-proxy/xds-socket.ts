import { unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { errorCode, errorMessage } from "../base/coded-error.ts";
import { type Logger, silentLogger } from "../base/logger.ts";
import { makeDirectory } from "../files/make-directory.ts";
import { makeProxyDirectory } from "../files/proxy-file.ts";
import type { ReservedSocket } from "../net/listen/listen.ts";
import { reserveSocket } from "../net/listen/reserve-socket.ts";
import { XdsProxyError } from "./xds-proxy-error.ts";

/** A client of another user in the pod connects too. */
export const SOCKET_FILE = { mode: 0o666, replace: "always" } as const;
const DIRECTORY_MODE = 0o755;

/** Binds the socket ahead of its server. Undefined when that does not work: the server tries again, and logs why not. */
export async function reserveXdsSocket(path: string): Promise<ReservedSocket | undefined> {
  try {
    // Before `makeWay` would do it with a mode that the umask may narrow: Envoy's bootstrap comes into the same directory.
    await makeProxyDirectory(dirname(path), { access: "shared" });
    await makeWay(path, silentLogger);
    return await reserveSocket({ path, ...SOCKET_FILE });
  } catch {
    return undefined;
  }
}

/** Removes what is at the path and makes its directory. */
export async function makeWay(path: string, log: Logger): Promise<void> {
  try {
    unlinkSync(path);
  } catch (cause) {
    if (errorCode(cause) !== "ENOENT")
      throw new XdsProxyError("socket-in-the-way", `failed to remove unix://${path}: ${errorMessage(cause)}`, {
        cause,
      });
  }
  await makeDirectory(dirname(path), DIRECTORY_MODE).catch((cause: unknown) => {
    log.warn(`failed to create the directory of unix://${path}: ${errorMessage(cause)}`);
  });
}
