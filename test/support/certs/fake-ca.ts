import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  status as statusCodes,
} from "@grpc/grpc-js";
import { CloseStack } from "../../../src/base/close-stack.ts";
import { type Handle, toHandle } from "../../../src/base/handle.ts";
import { silentLogger } from "../../../src/base/logger.ts";
import { startAuthority } from "../../../src/ca/authority.ts";
import {
  CREATE_CERTIFICATE_PATH,
  istioCertificateRequest,
  istioCertificateResponse,
  requestMetadataText,
} from "../../../src/protobuf/wire/istio-ca.ts";
import { parseCsr } from "../../../src/protocol/x509/csr.ts";

/** What the CA was asked, as it came over the wire. */
export interface FakeCaCall {
  readonly csr: string;
  readonly ttlSeconds: number;
  readonly certSigner: string;
  /** First value of each. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly authority: string;
  readonly peer: string;
  /** SANs of the client's certificate as node prints them; undefined without one. */
  readonly clientCertificate: string | undefined;
  /** Aborts when the client gives up. */
  readonly cancelled: AbortSignal;
}

/** `sign` gives the right answer; a test returns it, changes it, throws a `FakeCaStatus` or never settles. */
export type FakeCaAnswer = (call: FakeCaCall, sign: () => Promise<readonly string[]>) => Promise<readonly string[]>;

export class FakeCaStatus extends Error {
  readonly status: keyof typeof statusCodes;

  constructor(status: keyof typeof statusCodes, message = "as the test asked") {
    super(message);
    this.status = status;
  }
}

export interface FakeCa extends Handle {
  /** "127.0.0.1:port"; with "localhost" a client would ask for istiod's name. */
  readonly endpoint: string;
  readonly port: number;
  readonly rootPem: string;
  readonly rootFile: string;
  readonly calls: readonly FakeCaCall[];
  /** From the next call on. */
  setAnswer(answer: FakeCaAnswer): void;
  /** A key and chain that this CA granted, as a first run would have written them. */
  issue(identity: string): Promise<{ readonly keyPem: string; readonly chainPem: string }>;
}

export interface FakeCaOptions {
  /** A loopback address. */
  readonly host?: string;
  /** Zero takes any free one. */
  readonly port?: number;
  readonly plaintext?: boolean;
  /** Names of its certificate; 127.0.0.1 by default. */
  readonly hosts?: readonly string[];
  /** Clients must show a certificate of this CA. */
  readonly requireClientCertificate?: boolean;
  /** Keeps its root there, for a restart with the same one. */
  readonly directory?: string;
  readonly answer?: FakeCaAnswer;
}

/** A real CA on a real TLS port, served by grpc-js and so by another implementation than the client under test. */
export async function startFakeCa(options: FakeCaOptions = {}): Promise<FakeCa> {
  await using opened = new CloseStack();
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), "fake-ca-")));
  if (options.directory === undefined) opened.defer(() => rm(directory, { recursive: true, force: true }));
  const authority = opened.add(
    await startAuthority({
      directory,
      trustDomain: "cluster.local",
      log: silentLogger,
      selfSigned: { key: { type: "ecdsa", curve: "P256" } },
    }),
  );
  const { rootPem } = authority.material;
  const rootFile = join(directory, "root-cert.pem");
  await writeFile(rootFile, rootPem);
  let answer: FakeCaAnswer = options.answer ?? ((_call, sign) => sign());
  const calls: FakeCaCall[] = [];

  const handle = async (call: ServerUnaryCall<Request, Response>, reply: sendUnaryData<Response>) => {
    const seen = describeCall(call);
    calls.push(seen);
    const sign = async () => {
      const identities = parseCsr(seen.csr).names.map((name) => name.value);
      return authority.sign({ csrPem: seen.csr, identities, ttlSeconds: BigInt(seen.ttlSeconds) });
    };
    try {
      reply(null, { certChain: await answer(seen, sign) });
    } catch (failure) {
      const code = failure instanceof FakeCaStatus ? statusCodes[failure.status] : statusCodes.UNKNOWN;
      reply({ code, details: failure instanceof Error ? failure.message : String(failure) });
    }
  };

  const server = new Server();
  server.addService(SERVICE, { createCertificate: handle });
  const certificate = await authority.issueServer(options.hosts ?? ["127.0.0.1"]);
  const pair = { private_key: Buffer.from(certificate.keyPem.reveal()), cert_chain: Buffer.from(certificate.chainPem) };
  const credentials = options.plaintext
    ? ServerCredentials.createInsecure()
    : ServerCredentials.createSsl(Buffer.from(rootPem), [pair], options.requireClientCertificate ?? false);
  const host = options.host ?? "127.0.0.1";
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`${host}:${options.port ?? 0}`, credentials, (failure, bound) =>
      failure === null ? resolve(bound) : reject(failure),
    ),
  );
  opened.defer(() => server.forceShutdown());
  const owned = opened.move();
  return toHandle({
    endpoint: `${host}:${port}`,
    port,
    rootPem,
    rootFile,
    calls,
    setAnswer: (next: FakeCaAnswer) => {
      answer = next;
    },
    issue: async (identity: string) => {
      const { keyPem, chainPem } = await authority.issueServer([identity]);
      return { keyPem: keyPem.reveal(), chainPem };
    },
    ended: new Promise<void>(() => undefined),
    stop: () => owned.close(),
  });
}

type Request = ReturnType<typeof istioCertificateRequest.decode>;
type Response = Parameters<typeof istioCertificateResponse.encode>[0];

const SERVICE = {
  createCertificate: {
    path: CREATE_CERTIFICATE_PATH,
    requestStream: false,
    responseStream: false,
    requestSerialize: (request: Request) => istioCertificateRequest.encode(request),
    requestDeserialize: (bytes: Buffer) => istioCertificateRequest.decode(bytes),
    responseSerialize: (response: Response) => istioCertificateResponse.encode(response),
    responseDeserialize: (bytes: Buffer) => istioCertificateResponse.decode(bytes),
  },
};

function describeCall(call: ServerUnaryCall<Request, Response>): FakeCaCall {
  const cancelled = new AbortController();
  call.on("cancelled", () => cancelled.abort());
  const peer = call.getAuthContext().sslPeerCertificate;
  return {
    csr: call.request.csr,
    ttlSeconds: Number(call.request.validityDuration),
    certSigner: requestMetadataText(call.request.metadata, "CertSigner"),
    metadata: Object.fromEntries(Object.entries(call.metadata.getMap()).map(([name, value]) => [name, String(value)])),
    authority: call.getHost(),
    peer: call.getPeer(),
    clientCertificate: peer?.subjectaltname,
    cancelled: cancelled.signal,
  };
}
