/** Where operating systems keep their CA bundle, in the order they are tried. */
export const SYSTEM_ROOT_PATHS: readonly string[] = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/tls/cacert.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/cert.pem",
  "/usr/local/etc/ssl/cert.pem",
  "/etc/ssl/certs/ca-certificates",
];
