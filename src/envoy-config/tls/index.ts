export { NO_TLS, originatedTls, refusedTls } from "./client-tls.ts";
export { TLS_VERSIONS, type WorkloadTlsOptions, workloadTls } from "./common-tls.ts";
export { exactSans, trustDomainSans, withTrustDomainAliases } from "./san-matcher.ts";
export {
  credentialSecret,
  fileCertificateName,
  fileRootName,
  patientSecret,
  ROOT_SECRET,
  sdsSecret,
  WORKLOAD_SECRET,
} from "./sds.ts";
export { proxyProtocolSocket, RAW_BUFFER, upstreamTlsSocket } from "./transport-socket.ts";
