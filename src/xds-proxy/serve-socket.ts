import { lstatSync } from "node:fs";
import { startAlignedInterval } from "../base/aligned-interval.ts";
import { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import { type GrpcServer, type GrpcServerOptions, startGrpcServer } from "../grpc/index.ts";
import type { ReservedSocket } from "../net/listen/listen.ts";
import { makeWay, SOCKET_FILE } from "./xds-socket.ts";

export interface SocketOptions extends Omit<GrpcServerOptions, "listen"> {
  readonly path: string;
  /** The socket, when it was bound beforehand. */
  readonly reserved?: ReservedSocket | undefined;
  /** How often the file is looked for. */
  readonly checkMs?: number;
}

const DEFAULT_CHECK_MS = 2000;

/** A gRPC server on a unix socket whose file is created again when it is deleted; existing connections live on. */
export async function serveSocket(options: SocketOptions): Promise<Handle> {
  const { path, log, checkMs = DEFAULT_CHECK_MS } = options;
  await using opened = new CloseStack();
  let fail: (cause: unknown) => void = () => undefined;
  const ended = new Promise<void>((_resolve, reject) => {
    fail = reject;
  });
  const add = async (reserved?: ReservedSocket) => {
    const server = await bind(options, reserved);
    server.ended.catch((cause: unknown) => {
      log.error(`failed to accept downstream gRPC connection ${errorMessage(cause)}`);
      fail(cause);
    });
    // The server before keeps its connections. Its listener cannot be closed alone: that would remove the new file.
    owner.add(server);
  };
  let owner = opened;
  await add(options.reserved);

  let checking: Promise<void> | undefined;
  const check = async () => {
    if (!isMissing(path)) return;
    log.warn(`the socket ${path} is gone; making it again`);
    await add().catch((failure: unknown) => log.error(`cannot make the socket again: ${errorMessage(failure)}`));
  };
  const timer = startAlignedInterval(() => {
    checking ??= check().finally(() => {
      checking = undefined;
    });
  }, checkMs);
  owner = opened.move();
  return toHandle({
    ended,
    async stop() {
      timer.stop();
      await checking;
      await owner.close();
    },
  });
}

async function bind(options: SocketOptions, reserved: ReservedSocket | undefined): Promise<GrpcServer> {
  const { path, checkMs: _, ...server } = options;
  if (reserved === undefined) await makeWay(path, server.log);
  return startGrpcServer({ ...server, listen: { path, ...SOCKET_FILE, reserved } });
}

/** Without waiting: a turn through another thread would cost more than the look. */
function isMissing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}
