import { basename, join } from "node:path";
import type { Logger } from "../base/logger.ts";
import { probeSocket } from "./probe-socket.ts";
import { SdsError } from "./sds-error.ts";

export interface SdsStartOptions {
  /** Directory of the workload socket, ./var/run/secrets/workload-spiffe-uds in a pod. */
  readonly workloadDirectory: string;
  /** Directory of credential sockets, ./var/run/secrets/credential-uds in a pod. */
  readonly credentialDirectory: string;
  /** Name of the socket Envoy connects to; an external server may sit on it. */
  readonly socketName: string;
  /** What an external server means: serve files beside it, or nothing at all (1.20). Up to 1.8 the agent does not look for one. */
  readonly generation: "legacy" | "serve-files" | "serve-nothing";
  /** 1.20's USE_EXTERNAL_WORKLOAD_SDS: no external server is an error. */
  readonly requireExternal?: boolean;
  readonly log: Logger;
}

export type SdsStart =
  | { readonly mode: "workload"; readonly listenPath: string }
  | { readonly mode: "files-only"; readonly listenPath: string; readonly externalPath: string }
  | { readonly mode: "external"; readonly externalPath: string };

/** Envoy asks there with fixed rules. */
const LEGACY_SOCKET = "./etc/istio/proxy/SDS";
const OWN_SOCKET = "socket";
const FILES_SOCKET = "files-socket";

/** Who serves the workload's identity: this agent, or a server that is already there. */
export async function decideSdsStart(options: SdsStartOptions): Promise<SdsStart> {
  const { socketName, workloadDirectory, credentialDirectory, log } = options;
  if (options.generation === "legacy") return { mode: "workload", listenPath: LEGACY_SOCKET };
  if (socketName !== basename(socketName)) {
    const text = `workload identity socket file override must be a filename, not a path: ${socketName}`;
    throw new SdsError("bad-socket-name", text);
  }
  const externalPath = join(workloadDirectory, socketName);
  const found = await probeSocket(externalPath);
  if (found === "alive") {
    if (options.generation === "serve-nothing") return { mode: "external", externalPath };
    log.info(`Existing workload SDS socket found at ${externalPath}. Default Istio SDS Server will only serve files`);
    return { mode: "files-only", listenPath: join(credentialDirectory, FILES_SOCKET), externalPath };
  }
  if (options.requireExternal) {
    throw new SdsError("no-external-server", "workload SDS socket is required but not found");
  }
  if (socketName !== OWN_SOCKET) {
    const text = `agent configured for non-default SDS socket path: ${externalPath} but no socket found`;
    throw new SdsError("no-external-server", text);
  }
  return { mode: "workload", listenPath: externalPath };
}
