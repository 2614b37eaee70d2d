import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as protoLoader from "@grpc/proto-loader";
import { silentLogger } from "../../../src/base/logger.ts";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import { clientCertificateAuthenticator } from "../../../src/ca/authenticators/authenticator.ts";
import { createJwtAuthenticator } from "../../../src/ca/authenticators/jwt.ts";
import { startAuthority } from "../../../src/ca/authority.ts";
import { certificateService } from "../../../src/ca/certificate-service.ts";
import { openDevelopmentIssuer } from "../../../src/ca/development-issuer.ts";
import { declareCaServerMetrics } from "../../../src/ca/metrics.ts";
import { createServerTls } from "../../../src/ca/server-credentials.ts";
import { type Codec, defineMethod } from "../../../src/grpc/method.ts";
import { implement } from "../../../src/grpc/server/server-types.ts";
import { startGrpcServer } from "../../../src/grpc/server/start-grpc-server.ts";
import { GrpcError } from "../../../src/grpc/status.ts";
import {
  deltaDiscoveryRequest,
  deltaDiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
} from "../../../src/protobuf/wire/discovery.ts";
import { foreignCodec } from "../sds/envoy-protos.ts";

const PREFIX = "type.googleapis.com/";
const SERVICE = "/envoy.service.discovery.v3.AggregatedDiscoveryService";
const DEPS = join(import.meta.dirname, "../../../node_modules/@grpc/grpc-js-xds/deps");

const protos = protoLoader.loadSync(
  [
    "envoy/config/listener/v3/listener.proto",
    "envoy/config/bootstrap/v3/bootstrap.proto",
    "envoy/config/cluster/v3/cluster.proto",
    "envoy/config/route/v3/route.proto",
    "envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto",
    "envoy/extensions/filters/http/router/v3/router.proto",
    "envoy/extensions/transport_sockets/tls/v3/tls.proto",
  ],
  {
    keepCase: true,
    includeDirs: ["envoy-api", "xds", "googleapis", "protoc-gen-validate"].map((folder) => join(DEPS, folder)),
  },
);

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
      sotw(options),
      delta(options),
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

const full = <Message>(codec: {
  encode(message: Partial<Message>): Buffer;
  decode(bytes: Buffer): Message;
}): Codec<Message> => codec;

function sotw({ resources, onHealth }: MeshControlPlaneOptions) {
  const method = defineMethod({
    path: `${SERVICE}/StreamAggregatedResources`,
    kind: "bidi",
    request: full(discoveryRequest),
    response: full(discoveryResponse),
  });
  return implement(method, async (requests, call) => {
    let nodeId = "";
    for await (const request of requests) {
      nodeId = request.node?.id ?? nodeId;
      if (request.typeUrl.endsWith("HealthInformation")) onHealth?.(request.errorDetail?.message);
      if (request.responseNonce !== "" || request.typeUrl.endsWith("HealthInformation")) continue;
      const matching = select(resources(nodeId), request.typeUrl, request.resourceNames);
      await call.write({ versionInfo: "1", nonce: "1", typeUrl: request.typeUrl, resources: matching.map(encode) });
    }
  });
}

function delta({ resources, onHealth }: MeshControlPlaneOptions) {
  const method = defineMethod({
    path: `${SERVICE}/DeltaAggregatedResources`,
    kind: "bidi",
    request: full(deltaDiscoveryRequest),
    response: full(deltaDiscoveryResponse),
  });
  return implement(method, async (requests, call) => {
    let nodeId = "";
    for await (const request of requests) {
      nodeId = request.node?.id ?? nodeId;
      if (request.typeUrl.endsWith("HealthInformation")) onHealth?.(request.errorDetail?.message);
      if (request.responseNonce !== "" || request.typeUrl.endsWith("HealthInformation")) continue;
      const matching = select(resources(nodeId), request.typeUrl, request.resourceNamesSubscribe);
      await call.write({
        systemVersionInfo: "1",
        nonce: "1",
        typeUrl: request.typeUrl,
        resources: matching.map((resource) => ({ version: "1", name: resource.name, resource: encode(resource) })),
        removedResources: [],
      });
    }
  });
}

function select(
  resources: readonly MeshResource[],
  typeUrl: string,
  names: readonly string[],
): readonly MeshResource[] {
  const ofType = resources.filter((resource) => `${PREFIX}${resource.type}` === typeUrl);
  return names.length === 0 || names.includes("*")
    ? ofType
    : ofType.filter((resource) => names.includes(resource.name));
}

function encode({ type, body }: MeshResource): { typeUrl: string; value: Buffer } {
  return { typeUrl: `${PREFIX}${type}`, value: Buffer.isBuffer(body) ? body : foreignCodec(protos, type).encode(body) };
}
