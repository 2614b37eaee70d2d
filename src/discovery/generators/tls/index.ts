export { TLS_VERSIONS, type WorkloadTlsOptions, workloadTls } from "./common-tls.ts";
export { exactSans, trustDomainSans, withTrustDomainAliases } from "./san-matcher.ts";
export { fileCertificateName, fileRootName, ROOT_SECRET, sdsSecret, WORKLOAD_SECRET } from "./sds.ts";
