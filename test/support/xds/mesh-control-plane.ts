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
import { GrpcError } from "../../../src/grpc/status.ts";
import { TYPE_PREFIX } from "../../../src/protobuf/type-url.ts";
import { HEALTH_TYPE } from "../../../src/xds/type-urls.ts";
import { createEnvoyMessages } from "./envoy-messages.ts";
import { XDS_PATHS, type XdsKind } from "./fake-xds-server.ts";
import { createResourceScript, type ScriptedResource } from "./resource-script.ts";

/** One resource in proto JSON with snake_case names; nested `@type` objects are encoded too. */
export interface MeshResource {
  readonly name: string;
  readonly type: string;
  /** JSON, or bytes for types whose .proto is not Envoy's. */
  readonly body: object | Buffer;
}

export interface MeshControlPlane extends AsyncDisposable {
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

export interface MeshControlPlaneOptions {
  /** What a node gets, by its id; asked once per request of a type. */
  resources(nodeId: string): readonly MeshResource[];
  readonly maxTtlMs?: number;
  /** Called for each health report of a workload; undefined means healthy. */
  readonly onHealth?: (problem: string | undefined) => void;
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
      discovery("sotw", options),
      discovery("delta", options),
    ],
  });
  const rootFile = join(directory, "root-cert.pem");
  return {
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

/** Each stream is answered by a script over the resources of its node. */
function discovery(kind: XdsKind, { resources, onHealth }: MeshControlPlaneOptions) {
  return implement(rawMethod(XDS_PATHS[kind], "bidi"), async (requests, call) => {
    const encoded = (nodeId: string) => resources(nodeId).map(encode);
    const responses: Buffer[] = [];
    const script = createResourceScript(kind, encoded, (response) => responses.push(response));
    for await (const bytes of requests) {
      const { typeUrl, error } = script.take(Buffer.from(bytes));
      if (typeUrl === HEALTH_TYPE) onHealth?.(error);
      for (const response of responses.splice(0)) await call.write(response);
    }
  });
}

const messages = createEnvoyMessages();

function encode({ name, type, body }: MeshResource): ScriptedResource {
  const typeUrl = `${TYPE_PREFIX}${type}`;
  return { name, typeUrl, value: Buffer.isBuffer(body) ? body : messages.packAny({ "@type": typeUrl, ...body }).value };
}
