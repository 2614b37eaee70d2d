import { lstat, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { CloseStack } from "../base/close-stack.ts";
import { errorCode, errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { type GrpcServer, type GrpcServerOptions, startGrpcServer } from "../grpc/index.ts";
import { XdsProxyError } from "./xds-proxy-error.ts";

export interface SocketOptions extends Omit<GrpcServerOptions, "listen"> {
  readonly path: string;
  /** How often the file is looked for. */
  readonly checkMs?: number;
}

const DEFAULT_CHECK_MS = 2000;
/** A client of another user in the pod connects too. */
const SOCKET_MODE = 0o666;
const DIRECTORY_MODE = 0o755;

/** A gRPC server on a unix socket whose file, when somebody deletes it, is made again; connections that exist live on. */
export async function serveSocket(options: SocketOptions): Promise<Handle> {
  const { path, log, checkMs = DEFAULT_CHECK_MS } = options;
  await using opened = new CloseStack();
  let fail: (cause: unknown) => void = () => undefined;
  const ended = new Promise<void>((_resolve, reject) => {
    fail = reject;
  });
  const add = async () => {
    const server = await bind(options);
    server.ended.catch((cause: unknown) => {
      log.error(`failed to accept downstream gRPC connection ${errorMessage(cause)}`);
      fail(cause);
    });
    // The server before keeps its connections. Its listener cannot be closed alone: that would remove the new file.
    owner.add(server);
  };
  let owner = opened;
  await add();

  let checking: Promise<void> | undefined;
  const check = async () => {
    if (!(await isMissing(path))) return;
    log.warn(`the socket ${path} is gone; making it again`);
    await add().catch((failure: unknown) => log.error(`cannot make the socket again: ${errorMessage(failure)}`));
  };
  const timer = setInterval(() => {
    checking ??= check().finally(() => {
      checking = undefined;
    });
  }, checkMs);
  timer.unref();
  owner = opened.move();
  return toHandle({
    ended,
    async stop() {
      clearInterval(timer);
      await checking;
      await owner.close();
    },
  });
}

async function bind({ path, checkMs: _, ...server }: SocketOptions): Promise<GrpcServer> {
  await unlink(path).catch((cause: unknown) => {
    if (errorCode(cause) === "ENOENT") return;
    throw new XdsProxyError("socket-in-the-way", `failed to remove unix://${path}: ${errorMessage(cause)}`, { cause });
  });
  await makeDirectory(dirname(path), DIRECTORY_MODE).catch((cause: unknown) => {
    server.log.warn(`failed to create the directory of unix://${path}: ${errorMessage(cause)}`);
  });
  return startGrpcServer({ ...server, listen: { path, mode: SOCKET_MODE, replace: "always" } });
}

async function isMissing(path: string): Promise<boolean> {
  return lstat(path).then(
    () => false,
    (failure: unknown) => errorCode(failure) === "ENOENT",
  );
}
