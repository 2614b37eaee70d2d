import { createPublicKey, type KeyObject } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import protobuf from "protobufjs";
import { CloseStack } from "../../../src/base/close-stack.ts";
import { parseCsr } from "../../../src/protocol/x509/csr.ts";
import { makeCertificate, type TestCertificate } from "./certificates.ts";

/** Google's own field names and numbers, read by another implementation of protobuf than the client's. */
const PROTOS = `
syntax = "proto3";
message Duration { int64 seconds = 1; int32 nanos = 2; }
message MeshCertificateRequest { string request_id = 1; string csr = 2; Duration validity = 3; }
message MeshCertificateResponse { repeated string cert_chain = 1; }
message Empty {}
message SubjectConfig { Empty subject = 1; }
message BaseKeyUsage { bool digital_signature = 1; bool key_encipherment = 3; }
message ExtendedKeyUsage { bool server_auth = 1; bool client_auth = 2; }
message KeyUsage { BaseKeyUsage base_key_usage = 1; ExtendedKeyUsage extended_key_usage = 2; }
message CaOptions { bool is_ca = 1; }
message X509Parameters { KeyUsage key_usage = 1; CaOptions ca_options = 2; }
message PublicKey { bytes key = 1; int32 format = 2; }
message CertificateConfig { SubjectConfig subject_config = 1; X509Parameters x509_config = 2; PublicKey public_key = 3; }
message Certificate {
  string name = 1; CertificateConfig config = 3; Duration lifetime = 5; int32 subject_mode = 7;
  string pem_certificate = 9; repeated string pem_certificate_chain = 11;
}
message CreateCertificateRequest { string parent = 1; string certificate_id = 2; Certificate certificate = 3; string request_id = 4; }
message FetchCaCertsRequest { string ca_pool = 1; string request_id = 2; }
message CertChain { repeated string certificates = 1; }
message FetchCaCertsResponse { repeated CertChain ca_certs = 1; }
`;
const { root: types } = protobuf.parse(PROTOS, { keepCase: true });
const CAS = "/google.cloud.security.privateca.v1.CertificateAuthorityService";

type Message = Record<string, unknown>;
type Handler = (request: Message) => Promise<Message>;

export interface FakeGoogleCa extends AsyncDisposable {
  readonly endpoint: string;
  /** The roots that its own certificate leads to. */
  readonly rootFile: string;
  readonly roots: readonly TestCertificate[];
  readonly calls: readonly { readonly path: string; readonly request: Message; readonly metadata: Message }[];
  /** Answers the next mesh CA calls with this chain. */
  meshChain: readonly string[] | undefined;
}

/** Google's mesh CA and Certificate Authority Service on one TLS port; the pool has two roots, one of them twice. */
export async function startFakeGoogleCa(identity: string): Promise<FakeGoogleCa> {
  await using opened = new CloseStack();
  const roots = [await makeCertificate({ organization: "one" }), await makeCertificate({ organization: "two" })];
  const [issuer, other] = roots as [TestCertificate, TestCertificate];
  const intermediate = await makeCertificate({ organization: "intermediate", by: issuer });
  const leafOf = async (publicKey: KeyObject) => {
    const keys = { publicKey, privateKey: issuer.keys.privateKey };
    return (await makeCertificate({ keys, by: intermediate, isCa: false, hosts: [identity] })).pem;
  };
  const calls: { path: string; request: Message; metadata: Message }[] = [];
  const fake = { meshChain: undefined as readonly string[] | undefined };

  const handlers: Readonly<Record<string, readonly [string, string, Handler]>> = {
    "/google.security.meshca.v1.MeshCertificateService/CreateCertificate": [
      "MeshCertificateRequest",
      "MeshCertificateResponse",
      async ({ csr }) => {
        const key = createPublicKey({ key: parseCsr(String(csr)).publicKeyDer, format: "der", type: "spki" });
        return { cert_chain: fake.meshChain ?? [await leafOf(key), intermediate.pem, issuer.pem] };
      },
    ],
    [`${CAS}/CreateCertificate`]: [
      "CreateCertificateRequest",
      "Certificate",
      async ({ certificate }) => {
        const { config } = certificate as { config: { public_key: { key: string } } };
        const key = createPublicKey(Buffer.from(config.public_key.key, "base64"));
        return { pem_certificate: await leafOf(key), pem_certificate_chain: [intermediate.pem] };
      },
    ],
    [`${CAS}/FetchCaCerts`]: [
      "FetchCaCertsRequest",
      "FetchCaCertsResponse",
      async () => ({
        ca_certs: [
          { certificates: [intermediate.pem, issuer.pem] },
          { certificates: [other.pem] },
          { certificates: [issuer.pem] },
        ],
      }),
    ],
  };

  const own = await makeCertificate({ by: issuer, isCa: false, hosts: ["127.0.0.1"] });
  const folder = await mkdtemp(join(tmpdir(), "google-ca-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const rootFile = join(folder, "root.pem");
  await writeFile(rootFile, issuer.pem);
  const server = new Server();
  for (const [path, [requestName, responseName, answer]] of Object.entries(handlers)) {
    const [requestType, responseType] = [types.lookupType(requestName), types.lookupType(responseName)];
    const call = (call: ServerUnaryCall<Message, Message>, reply: sendUnaryData<Message>) => {
      calls.push({ path, request: call.request, metadata: call.metadata.getMap() });
      answer(call.request).then(
        (value) => reply(null, value),
        (failure: Error) => reply({ code: 13, details: failure.message }),
      );
    };
    const method = {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: (value: Message) => Buffer.from(requestType.encode(value).finish()),
      requestDeserialize: (bytes: Buffer) =>
        requestType.toObject(requestType.decode(bytes), { longs: String, bytes: String, defaults: true }),
      responseSerialize: (value: Message) => Buffer.from(responseType.encode(value).finish()),
      responseDeserialize: (bytes: Buffer) => responseType.toObject(responseType.decode(bytes)),
    };
    server.addService({ call: method } as never, { call } as never);
  }
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(
      "127.0.0.1:0",
      ServerCredentials.createSsl(null, [{ private_key: Buffer.from(own.keyPem), cert_chain: Buffer.from(own.pem) }]),
      (failure, bound) => (failure === null ? resolve(bound) : reject(failure)),
    ),
  );
  opened.defer(() => server.forceShutdown());
  const owned = opened.move();
  return Object.assign(fake, {
    endpoint: `127.0.0.1:${port}`,
    rootFile,
    roots,
    calls,
    [Symbol.asyncDispose]: () => owned.close(),
  });
}
