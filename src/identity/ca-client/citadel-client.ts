import { createCertificate } from "../../grpc/index.ts";
import { requestMetadata } from "../../protobuf/wire/istio-ca.ts";
import type { CaClientOptions } from "./ca-client-options.ts";
import { startGrpcCaClient } from "./grpc-ca-client.ts";
import type { CaProtocol } from "./sign-over.ts";
import type { CaClient } from "./types.ts";

/** The client for istiod and everything that speaks its protocol. */
export function startCitadelClient(options: CaClientOptions): Promise<CaClient> {
  const protocol: CaProtocol = {
    metadata: { clusterid: options.clusterId },
    async createCertificate(channel, { csrPem, ttlSeconds }, call) {
      const request = {
        csr: csrPem,
        validityDuration: BigInt(Math.trunc(ttlSeconds)),
        metadata: requestMetadata({ CertSigner: options.certSigner }),
      };
      return (await channel.unary(createCertificate, request, call)).certChain ?? [];
    },
  };
  return startGrpcCaClient(options, protocol);
}
