import { errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { wait } from "../base/wait.ts";
import {
  defineMethod,
  type GrpcServer,
  type Implementation,
  implement,
  rawCodec,
  startGrpcServer,
} from "../grpc/index.ts";
import type { ReservedSocket } from "../net/listen/listen.ts";
import {
  type DeltaDiscoveryRequest,
  type DiscoveryRequest,
  type DiscoveryResponse,
  deltaDiscoveryRequest,
  discoveryRequest,
  discoveryResponse,
} from "../protobuf/wire/discovery.ts";
import { SDS_SERVICE, SDS_V2_SERVICE } from "../xds/methods.ts";
import {
  createLegacyContext,
  type LegacyContext,
  type LegacyOptions,
  legacyFetch,
  legacyStream,
} from "./compat/legacy-stream.ts";
import type { PrivateKeyProvider } from "./core/encode-secret.ts";
import type { SdsMetrics } from "./metrics.ts";
import { createSdsContext, type NodeIds, type SdsContext } from "./sds-context.ts";
import { SdsError } from "./sds-error.ts";
import { makeSocketDirectory, SOCKET_FILE } from "./sds-socket.ts";
import type { SecretSource } from "./secret-source.ts";
import { fetchSecrets, serveSecrets } from "./serve-secrets.ts";

const stream = (service: string) =>
  defineMethod<"bidi", DiscoveryRequest, Uint8Array>({
    path: `/${service}/StreamSecrets`,
    kind: "bidi",
    request: discoveryRequest,
    response: rawCodec,
  });
const fetch = (service: string) =>
  defineMethod<"unary", DiscoveryRequest, Partial<DiscoveryResponse>>({
    path: `/${service}/FetchSecrets`,
    kind: "unary",
    request: discoveryRequest,
    response: discoveryResponse,
  });
const delta = defineMethod<"bidi", DeltaDiscoveryRequest, Uint8Array>({
  path: `/${SDS_SERVICE}/DeltaSecrets`,
  kind: "bidi",
  request: deltaDiscoveryRequest,
  response: rawCodec,
});

export interface SdsServerOptions {
  /** The unix socket to serve on. */
  readonly path: string;
  /** The socket, when it was bound beforehand. */
  readonly reserved?: ReservedSocket | undefined;
  readonly source: SecretSource;
  /** Hands keys to hardware instead of to Envoy's own TLS library. */
  readonly privateKeyProvider?: PrivateKeyProvider | undefined;
  /** Present: the rules of releases 1.7 and 1.8 apply. */
  readonly legacy?: LegacyOptions | undefined;
  /** Which node ids are accepted; any text by default. */
  readonly nodeIds?: NodeIds | undefined;
  /** Ends streams whose client does not read; by default they may take for ever. */
  readonly sendTimeoutMs?: number | undefined;
  /** Group of an Envoy that runs as another user than the agent; directories made for the socket let this group through. */
  readonly envoyGroup?: number | undefined;
  readonly metrics: SdsMetrics;
  readonly log: Logger;
  /** Gives up binding. */
  readonly signal?: AbortSignal;
  /** Delays between the attempts to bind. */
  readonly bindRetryMs?: readonly number[];
}

export interface SdsServer extends Handle {
  readonly path: string;
}

const BIND_RETRY_MS: readonly number[] = [1000, 2000, 4000, 8000, 16_000];
const MAX_STREAMS = 100_000;

/**
 * Resolves when the socket is bound, replacing any file at its path. A path that cannot be bound is tried again for half a minute,
 * then the start rejects.
 */
export async function startSdsServer(options: SdsServerOptions): Promise<SdsServer> {
  const methods = options.legacy
    ? legacyMethods(createLegacyContext(options, options.legacy))
    : sdsMethods(createSdsContext(options));
  const server = await bindWithRetries(options, methods);
  return toHandle({ path: options.path, ended: server.ended, stop: () => server.stop() });
}

async function bindWithRetries(options: SdsServerOptions, methods: readonly Implementation[]): Promise<GrpcServer> {
  let lastFailure: unknown;
  for (const delayMs of options.bindRetryMs ?? BIND_RETRY_MS) {
    if (options.signal?.aborted) throw new SdsError("stopped", "stopped while binding the SDS socket");
    try {
      return await bind(options, methods);
    } catch (failure) {
      lastFailure = failure;
      options.log.error(`SDS grpc server for workload proxies failed to set up UDS: ${errorMessage(failure)}`);
      await wait(delayMs, options.signal);
    }
  }
  options.log.warn("SDS grpc server could not be started");
  const text = `SDS socket ${options.path} could not be bound: ${errorMessage(lastFailure)}`;
  throw new SdsError("bind-failed", text, { cause: lastFailure });
}

async function bind(options: SdsServerOptions, methods: readonly Implementation[]): Promise<GrpcServer> {
  const { path, log, reserved } = options;
  await makeSocketDirectory(path, options.envoyGroup).catch((failure: unknown) => {
    log.warn("the directory of the SDS socket could not be created", { path, error: errorMessage(failure) });
  });
  const listen = { path, ...SOCKET_FILE, reserved };
  return startGrpcServer({ listen, methods, log, maxConcurrentStreams: MAX_STREAMS });
}

/** The methods of the current generations. */
function sdsMethods(context: SdsContext): readonly Implementation[] {
  return [
    implement(stream(SDS_SERVICE), (requests, call) => serveSecrets(context, "sotw", requests, call)),
    implement(delta, (requests, call) => serveSecrets(context, "delta", requests, call)),
    implement(fetch(SDS_SERVICE), (request, call) => fetchSecrets(context, request, call)),
  ];
}

/** The methods of releases 1.7 and 1.8: both API versions, no incremental one. */
function legacyMethods(context: LegacyContext): readonly Implementation[] {
  return [SDS_SERVICE, SDS_V2_SERVICE].flatMap((service) => [
    implement(stream(service), (requests, call) => legacyStream(context, requests, call)),
    implement(fetch(service), (request, call) => legacyFetch(context, request, call)),
  ]);
}
