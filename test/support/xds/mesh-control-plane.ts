import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../../../src/base/logger.ts";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import { clientCertificateAuthenticator } from "../../../src/ca/authenticators/authenticator.ts";
import { createJwtAuthenticator } from "../../../src/ca/authenticators/jwt.ts";
import { startAuthority } from "../../../src/ca/authority.ts";
import { certificateService } from "../../../src/ca/certificate-service.ts";
import { openDevelopmentIssuer } from "../../../src/ca/development-issuer.ts";
import { declareCaServerMetrics } from "../../../src/ca/metrics.ts";
import { createServerTls } from "../../../src/ca/server-credentials.ts";
import { rawMethod } from "../../../src/grpc/method.ts";
import { implement } from "../../../src/grpc/server/server-types.ts";
import { startGrpcServer } from "../../../src/grpc/server/start-grpc-server.ts";
import { GrpcError, statusName } from "../../../src/grpc/status.ts";
import { ADS_PATHS, type XdsProtocol } from "../../../src/xds/methods.ts";
import { createServedStreams, type ScriptOptions, type ServedStreams } from "./served-streams.ts";

export type { MeshResource } from "./resource-script.ts";

export interface MeshControlPlane extends ServedStreams, AsyncDisposable {
  readonly port: number;
  /** PEM file of the CA's root. */
  readonly rootFile: string;
  /** A service account token that the CA accepts. */
  token(namespace: string, account: string): Promise<string>;
  /** The issuing part refuses or answers again; xDS goes on. */
  setCaDown(isDown: boolean): void;
  /** Certificates issued so far. */
  readonly issued: number;
}

export interface MeshControlPlaneOptions extends ScriptOptions {
  readonly maxTtlMs?: number;
}

/** xDS and CA on one TLS port, as a real control plane has them: our own CA, and resources that the test names. */
export async function startMeshControlPlane(options: MeshControlPlaneOptions): Promise<MeshControlPlane> {
  const directory = await mkdtemp(join(tmpdir(), "mesh-ca-"));
  const maxMs = options.maxTtlMs ?? 24 * 3_600_000;
  const authority = await startAuthority({
    directory,
    trustDomain: "cluster.local",
    selfSigned: { key: { type: "ecdsa", curve: "P256" } },
    ttl: { defaultMs: maxMs, maxMs },
    log: silentLogger,
  });
  const issuer = await openDevelopmentIssuer(directory);
  const metrics = declareCaServerMetrics(new MetricRegistry());
  let isDown = false;
  let issued = 0;
  const tokens = await createJwtAuthenticator({ rule: issuer.rule, trustDomain: () => "cluster.local" });
  const gated: typeof tokens = {
    name: tokens.name,
    authenticate: async (request, signal) => {
      if (isDown) throw new GrpcError("UNAVAILABLE", "the CA is down");
      issued += 1;
      return tokens.authenticate(request, signal);
    },
  };
  const { open, ...streams } = createServedStreams(options);
  const hosts = ["localhost", "127.0.0.1", "istiod.istio-system.svc"];
  const server = await startGrpcServer({
    listen: { host: "127.0.0.1", port: 0 },
    tls: createServerTls({ authority, hosts, trustDomain: "cluster.local" }),
    maxReceiveBytes: 64 * 1024 * 1024,
    log: silentLogger,
    methods: [
      certificateService({
        authority,
        authenticators: [gated, clientCertificateAuthenticator()],
        metrics,
        log: silentLogger,
      }),
      discovery("sotw", open),
      discovery("delta", open),
    ],
  });
  const rootFile = join(directory, "root-cert.pem");
  return {
    ...streams,
    port: "port" in server.address ? server.address.port : 0,
    rootFile,
    token: async (namespace, account) => (await issuer.issue({ namespace, name: account }, 3600)).reveal(),
    setCaDown(down) {
      isDown = down;
    },
    get issued() {
      return issued;
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await authority.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function discovery(kind: XdsProtocol, open: ReturnType<typeof createServedStreams>["open"]) {
  return implement(rawMethod(ADS_PATHS[kind], "bidi"), async (requests, call) => {
    let [close, end, fail] = [() => {}, () => {}, (_: Error) => {}];
    const ending = new Promise<void>((resolve, reject) => {
      [end, fail] = [resolve, reject];
    });
    const closed = new Promise<void>((resolve) => {
      close = resolve;
    });
    const take = open({
      kind,
      metadata: { get: (name) => call.metadata.getAll(name) },
      host: call.authority,
      send: (message) => {
        // What is written to a call that is over is lost, as on a wire.
        call.write(message).catch(() => undefined);
        return true;
      },
      sendHeaders: (headers) => call.sendHeaders(headers),
      end,
      fail: (code, details) => fail(new GrpcError(statusName(String(code)), details)),
      closed,
    });
    const reading = (async () => {
      for await (const bytes of requests) take(Buffer.from(bytes));
    })();
    try {
      await Promise.race([reading, ending]);
    } finally {
      close();
    }
  });
}
