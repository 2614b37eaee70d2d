import type { Logger } from "../../base/logger.ts";
import type { Counter } from "../../base/metric-registry.ts";
import type { KeepaliveOptions } from "../../grpc/index.ts";
import type { Dial } from "../../net/dial.ts";
import type { TokenFetcher } from "../tokens/token-fetcher.ts";

/** All that a CA provider may need; the environment variable that fills a member is named where there is one. */
export interface CaClientOptions {
  /** `CA_ADDR`, "host:port". Port 15010 is plaintext; without a port, 443. */
  readonly endpoint: string;
  /** Overrides the name that the CA's certificate must carry. */
  readonly serverName?: string | undefined;
  /** PEM file with the roots for the CA's certificate; "" for those of the system. Read at every connect. */
  readonly rootFile: string;
  /** PEM bundle of the operating system, for an empty `rootFile`; node's built-in roots when absent. */
  readonly systemRootFile?: string | undefined;
  /** `PROV_CERT`: directory with `key.pem` and `cert-chain.pem` to show to the CA. Read at every connect. */
  readonly clientCertificateDirectory?: string | undefined;
  /** Asked for every attempt; undefined: calls go out without a token. */
  readonly tokens?: TokenFetcher | undefined;
  /** `ISTIO_META_CLUSTER_ID` */
  readonly clusterId: string;
  /** `ISTIO_META_CERT_SIGNER` */
  readonly certSigner: string;
  /** `GKE_CLUSTER_URL`, for Google's CA: where the cluster is. */
  readonly clusterUrl?: string | undefined;
  /** "host:port" of a CA whose `endpoint` names something else than an address; the provider's own when absent. */
  readonly serviceAddress?: string | undefined;
  /** `CA_HEADER_<NAME>`: extra metadata. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The way to the CA when it is not the direct one, such as through an HTTP proxy. */
  readonly connect?: Dial | undefined;
  /** `COMPLIANCE_POLICY`: limits the versions and algorithms of TLS. */
  readonly compliancePolicy?: string;
  /** How long one attempt may take, connecting included. */
  readonly attemptTimeoutMs?: number;
  readonly keepalive?: KeepaliveOptions;
  /** `num_outgoing_retries`; label: request_type. */
  readonly retries: Counter;
  readonly log: Logger;
  readonly now?: () => Date;
  readonly random?: () => number;
}
