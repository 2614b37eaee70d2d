import { Secret } from "../../base/secret.ts";
import { runProgram } from "../../process/run-program.ts";
import { KubernetesError } from "../kubernetes-error.ts";
import type { ClusterAccess, ExecPlugin } from "./cluster-access.ts";
import { readMaterial } from "./material-reader.ts";

/** What a plugin printed. */
export interface PluginCredentials {
  readonly token: Secret | undefined;
  readonly certificate: { readonly cert: string; readonly key: Secret } | undefined;
  /** Milliseconds since 1970; absent: until the server refuses them. */
  readonly expiresAt: number | undefined;
}

const PLUGIN_MS = 60_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;
const MAX_SHOWN = 500;

/** Runs the plugin to its end. Its standard error is for people and stands in the error; its output is secret and never does. */
export async function runExecPlugin(
  plugin: ExecPlugin,
  access: ClusterAccess,
  env: Readonly<NodeJS.ProcessEnv>,
): Promise<PluginCredentials> {
  const cluster = plugin.provideClusterInfo ? await clusterInfo(access) : undefined;
  const info = { apiVersion: plugin.apiVersion, kind: "ExecCredential", spec: { interactive: false, cluster } };
  const result = await runProgram(plugin.command, plugin.args, {
    env: { ...env, ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
    timeoutMs: PLUGIN_MS,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    ownGroup: true,
    lastOutputMs: 1000,
  });
  const fail = (reason: string) => {
    const hint = plugin.installHint === undefined ? "" : `; ${plugin.installHint}`;
    return new KubernetesError("no-credentials", `credential plugin ${plugin.command}: ${reason}${hint}`);
  };
  if (result.error !== undefined) throw fail(result.error.message);
  if (result.code !== 0)
    throw fail(`${result.signal ?? `exit code ${result.code}`}: ${result.stderr.trim().slice(-MAX_SHOWN)}`);
  const credentials = parseCredentials(result.stdout, plugin.apiVersion);
  if (typeof credentials === "string") throw fail(credentials);
  return credentials;
}

async function clusterInfo(access: ClusterAccess): Promise<object> {
  const ca = access.ca && (await readMaterial(access.ca));
  return {
    server: access.server.href.replace(/\/$/, ""),
    ...(access.serverName !== undefined && { "tls-server-name": access.serverName }),
    ...(access.isInsecure && { "insecure-skip-tls-verify": true }),
    ...(ca !== undefined && { "certificate-authority-data": Buffer.from(ca.reveal()).toString("base64") }),
    ...(access.proxyUrl !== undefined && { "proxy-url": access.proxyUrl.reveal() }),
  };
}

/** The problem as text when it is not what the plugin was asked for. */
function parseCredentials(output: string, apiVersion: string): PluginCredentials | string {
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(output);
  } catch {
    return "its output is not JSON";
  }
  if (parsed?.kind !== "ExecCredential" || parsed.apiVersion !== apiVersion)
    return `its output is not an ExecCredential of ${apiVersion}`;
  const status = (parsed.status ?? {}) as Record<string, unknown>;
  const text = (member: string) => (typeof status[member] === "string" ? (status[member] as string) : undefined);
  const [token, cert, key] = [text("token"), text("clientCertificateData"), text("clientKeyData")];
  if (token === undefined && cert === undefined) return "its output has neither a token nor a client certificate";
  if ((cert === undefined) !== (key === undefined)) return "its output has a client certificate or a key, not both";
  const expires = text("expirationTimestamp");
  const expiresAt = expires === undefined ? undefined : Date.parse(expires);
  if (Number.isNaN(expiresAt)) return `its expirationTimestamp ${JSON.stringify(expires)} is not a time`;
  return {
    token: token === undefined ? undefined : new Secret(token),
    certificate: cert === undefined || key === undefined ? undefined : { cert, key: new Secret(key) },
    expiresAt,
  };
}
