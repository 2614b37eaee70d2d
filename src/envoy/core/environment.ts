type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What Envoy, its libraries and its extensions read. A trailing `*` stands for any rest. Credentials among them (AWS_*, DD_*) are those
 * that Envoy itself signs or reports with; the agent's own, such as tokens for control planes, are not here.
 */
const PASSED: readonly string[] = [
  // The process: where programs, libraries, temporary files, zones and languages are.
  ..."PATH HOME USER LOGNAME SHELL HOSTNAME PWD TMPDIR TMP TEMP TZ TZDIR LANG LANGUAGE LC_* LD_LIBRARY_PATH LD_PRELOAD".split(
    " ",
  ),
  // Allocators, sanitizers, profilers.
  ..."MALLOC_* TCMALLOC_* GLIBC_TUNABLES ASAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS HEAPPROFILE CPUPROFILE".split(" "),
  // TLS and gRPC libraries.
  ..."SSL_CERT_FILE SSL_CERT_DIR SSLKEYLOGFILE OPENSSL_* GRPC_*".split(" "),
  ..."HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy grpc_proxy no_grpc_proxy".split(
    " ",
  ),
  // Clouds and telemetry.
  ..."AWS_* ECS_* GOOGLE_* GCE_* GCP_* GCLOUD_* AZURE_* OTEL_* DD_*".split(" "),
  // Who the workload is: access log formats and Wasm modules name these, and the control plane gets them as node metadata.
  ..."POD_NAME POD_NAMESPACE POD_UID INSTANCE_IP HOST_IP NODE_NAME SERVICE_ACCOUNT CANONICAL_* ISTIO_META_*".split(" "),
  // By which `mesh` finds the processes it has started.
  ..."PILOT_AGENT_MESH_* MESH_WORKLOAD".split(" "),
];

/** The variables of `env` that Envoy gets: the list above, and what `more` names in the same notation. */
export function envoyEnvironment(env: Environment, more: readonly string[]): Environment {
  const patterns = [...PASSED, ...more];
  const names = new Set(patterns.filter((pattern) => !pattern.endsWith("*")));
  const prefixes = patterns.filter((pattern) => pattern.endsWith("*")).map((pattern) => pattern.slice(0, -1));
  const isPassed = (name: string) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
  return Object.fromEntries(Object.entries(env).filter(([name]) => isPassed(name)));
}
