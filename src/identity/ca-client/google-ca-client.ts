import { randomUUID } from "node:crypto";
import { defineMethod } from "../../grpc/index.ts";
import { MESH_CA_CREATE_PATH, meshCertificateRequest, meshCertificateResponse } from "../../protobuf/wire/google-ca.ts";
import type { CaClientOptions } from "./ca-client-options.ts";
import { CaError } from "./ca-error.ts";
import { startGrpcCaClient } from "./grpc-ca-client.ts";
import type { CaProtocol } from "./sign-over.ts";
import type { CaClient } from "./types.ts";

const createCertificate = defineMethod({
  path: MESH_CA_CREATE_PATH,
  kind: "unary",
  request: meshCertificateRequest,
  response: meshCertificateResponse,
});

/** Google's mesh CA (`CA_PROVIDER=GoogleCA`). Its tokens are federated ones: see `exchangingFetcher`. */
export function startGoogleCaClient(options: CaClientOptions): Promise<CaClient> {
  const location = clusterLocation(options.clusterUrl ?? "");
  const protocol: CaProtocol = {
    metadata: location === undefined ? {} : { "x-goog-request-params": `location=locations/${location}` },
    async createCertificate(channel, { csrPem, ttlSeconds }, call) {
      const validity = { seconds: BigInt(Math.trunc(ttlSeconds)) };
      const request = { requestId: randomUUID(), csr: csrPem, validity };
      const { certChain = [] } = await channel.unary(createCertificate, request, call);
      if (certChain.length <= 1)
        throw new CaError("bad-answer", `CA at ${options.endpoint}: invalid response cert chain`);
      return certChain;
    },
  };
  return startGrpcCaClient(options, protocol);
}

/** `Z` of `.../projects/P/locations/Z/clusters/C`; clusters known to a fleet (gkehub) have no location of their own. */
function clusterLocation(clusterUrl: string): string | undefined {
  if (clusterUrl.includes("gkehub")) return undefined;
  return /\/projects\/[^/]+\/(?:locations|zones)\/([^/]+)\/clusters\/[^/]+$/.exec(clusterUrl)?.[1];
}
