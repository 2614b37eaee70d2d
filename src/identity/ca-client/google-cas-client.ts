import { randomInt } from "node:crypto";
import { defineMethod } from "../../grpc/index.ts";
import {
  CAS_CREATE_PATH,
  CAS_FETCH_CA_CERTS_PATH,
  casCertificate,
  casCreateRequest,
  casFetchRequest,
  casFetchResponse,
  PEM_KEY,
  REFLECTED_SPIFFE,
} from "../../protobuf/wire/google-ca.ts";
import { parseCsr } from "../../protocol/x509/csr.ts";
import { encodePem } from "../../protocol/x509/pem.ts";
import type { CaClientOptions } from "./ca-client-options.ts";
import { CaError } from "./ca-error.ts";
import { startGrpcCaClient } from "./grpc-ca-client.ts";
import type { CaProtocol } from "./sign-over.ts";
import type { CaClient } from "./types.ts";

const SERVICE = "privateca.googleapis.com:443";
const ID_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";

const createCertificate = defineMethod({
  path: CAS_CREATE_PATH,
  kind: "unary",
  request: casCreateRequest,
  response: casCertificate,
});
const fetchCaCerts = defineMethod({
  path: CAS_FETCH_CA_CERTS_PATH,
  kind: "unary",
  request: casFetchRequest,
  response: casFetchResponse,
});

/**
 * Google's Certificate Authority Service (`CA_PROVIDER=GoogleCAS`). `endpoint` names the pool (`projects/P/locations/L/caPools/N`), not an
 * address. The service takes the SPIFFE name from the caller's token, the request brings the public key only.
 */
export function startGoogleCasClient(options: CaClientOptions): Promise<CaClient> {
  const pool = options.endpoint;
  const protocol: CaProtocol = {
    metadata: {},
    async createCertificate(channel, { csrPem, ttlSeconds }, call) {
      const key = Buffer.from(encodePem("PUBLIC KEY", parseCsr(csrPem).publicKeyDer));
      const certificate = {
        config: {
          subjectConfig: { subject: {} },
          x509Config: {
            keyUsage: {
              baseKeyUsage: { digitalSignature: true, keyEncipherment: true },
              extendedKeyUsage: { serverAuth: true, clientAuth: true },
            },
            caOptions: {},
          },
          publicKey: { key, format: PEM_KEY },
        },
        lifetime: { seconds: BigInt(Math.trunc(ttlSeconds)) },
        subjectMode: REFLECTED_SPIFFE,
      };
      const request = { parent: pool, certificateId: `csr-workload-${randomLetters(8)}`, certificate };
      const issued = await channel.unary(createCertificate, request, call);
      const { caCerts = [] } = await channel.unary(fetchCaCerts, { caPool: pool }, call);
      const roots = [...new Set(caCerts.flatMap(({ certificates }) => certificates?.at(-1)?.trim() ?? []))].sort();
      if (roots.length === 0) throw new CaError("bad-answer", `CA pool ${pool}: it has no CA certificates`);
      return [issued.pemCertificate ?? "", ...(issued.pemCertificateChain ?? []), `${roots.join("\n")}\n`];
    },
  };
  return startGrpcCaClient({ ...options, endpoint: options.serviceAddress ?? SERVICE }, protocol);
}

function randomLetters(count: number): string {
  return Array.from({ length: count }, () => ID_LETTERS[randomInt(ID_LETTERS.length)]).join("");
}
