import { chown } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { makeDirectory } from "../files/make-directory.ts";
import type { ReservedSocket } from "../net/listen/listen.ts";
import { reserveSocket } from "../net/listen/reserve-socket.ts";

/** The socket itself is open to all, so that the directory decides who gets the workload's key: never everybody. */
const DIRECTORY_MODE = 0o750;
/** Envoy often runs as another user than the agent. */
export const SOCKET_FILE = { mode: 0o666, replace: "always" } as const;
/** chown(2) leaves the owner alone. */
const KEEP_OWNER = 0xffffffff;

/** Binds the socket ahead of its server. Undefined when that does not work: the server tries again, and logs why not. */
export async function reserveSdsSocket(
  path: string,
  envoyGroup: number | undefined,
): Promise<ReservedSocket | undefined> {
  try {
    await makeSocketDirectory(path, envoyGroup);
    return await reserveSocket({ path, ...SOCKET_FILE });
  } catch {
    return undefined;
  }
}

/** Directories that were there before keep their group: a volume is the platform's business. */
export async function makeSocketDirectory(path: string, group: number | undefined): Promise<void> {
  const directory = dirname(resolve(path));
  const first = await makeDirectory(directory, DIRECTORY_MODE);
  if (first === undefined || group === undefined) return;
  for (let made = directory; made.length >= first.length; made = dirname(made)) await chown(made, KEEP_OWNER, group);
}
