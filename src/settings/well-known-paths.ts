/** Certificate files; all paths are relative to the working directory, which is / in the image. */
export interface CertificateFiles {
  readonly chain: string;
  readonly key: string;
  readonly root: string;
}

/** Certificates mounted by the user. */
export const MOUNTED_CERTS: CertificateFiles = Object.freeze({
  chain: "./etc/certs/cert-chain.pem",
  key: "./etc/certs/key.pem",
  root: "./etc/certs/root-cert.pem",
});

const CREDENTIALS = "./var/run/secrets/workload-spiffe-credentials";

/** Certificates another agent writes for the workload; all three present switch to file mode. */
export const WORKLOAD_CERTS: CertificateFiles = Object.freeze({
  chain: `${CREDENTIALS}/cert-chain.pem`,
  key: `${CREDENTIALS}/key.pem`,
  root: `${CREDENTIALS}/root-cert.pem`,
});

export const GKE_WORKLOAD_CERTS: CertificateFiles = Object.freeze({
  chain: `${CREDENTIALS}/certificates.pem`,
  key: `${CREDENTIALS}/private_key.pem`,
  root: `${CREDENTIALS}/ca_certificates.pem`,
});

/** Projected service account token. */
export const TOKEN_PATH = "./var/run/secrets/tokens/istio-token";
export const SERVICE_ACCOUNT_TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount/token";
/** Cleaned of its `./`, as the logs show it. */
export const KUBERNETES_ROOT = "./var/run/secrets/istio/kubernetes/ca.crt";
export const SERVICE_ACCOUNT_ROOT = "./var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
export const ISTIOD_ROOT = "var/run/secrets/istio/root-cert.pem";
export const WORKLOAD_SOCKET_DIRECTORY = "./var/run/secrets/workload-spiffe-uds";
