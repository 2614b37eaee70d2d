import { resolve } from "node:path";
import { isJsonObject } from "../../base/json-object.ts";
import { Secret } from "../../base/secret.ts";
import { KubernetesError } from "../kubernetes-error.ts";
import type { ClusterAccess, ExecPlugin, Impersonation, Material, UserAccess } from "./cluster-access.ts";

export type Members = Readonly<Record<string, unknown>>;

/** An entry with the folder of its file, from which its relative paths start. */
export interface Entry {
  readonly members: Members;
  readonly folder: string;
}

interface Chosen {
  readonly name: string;
  readonly cluster: Entry;
  readonly user: Entry | undefined;
  readonly namespace: string;
}

/** What a context of a kubeconfig leads to. Throws "invalid-config". */
export function buildAccess({ name, cluster, user, namespace }: Chosen): ClusterAccess {
  const { members: given } = cluster;
  const server = text(given, "server") ?? "";
  if (!URL.canParse(server) || !/^https?:$/.test(new URL(server).protocol))
    throw invalid(`server ${JSON.stringify(server)} of context ${name} is not an http or https address`);
  const ca = material(cluster, "certificate-authority-data", "certificate-authority");
  const serverName = text(given, "tls-server-name");
  const proxyUrl = text(given, "proxy-url");
  return {
    name,
    server: new URL(server),
    isInsecure: given["insecure-skip-tls-verify"] === true,
    namespace,
    user: user === undefined ? {} : buildUser(user, name),
    ...(ca !== undefined && { ca }),
    ...(serverName !== undefined && { serverName }),
    ...(proxyUrl !== undefined && { proxyUrl: new Secret(proxyUrl) }),
  };
}

function buildUser(user: Entry, context: string): UserAccess {
  const { members: given, folder } = user;
  const clientCertificate = material(user, "client-certificate-data", "client-certificate");
  const clientKey = material(user, "client-key-data", "client-key");
  const tokenFile = text(given, "tokenFile");
  const tokenText = text(given, "token");
  // Where both are given the file counts: it is the one that is renewed.
  const token = tokenFile ? { file: resolve(folder, tokenFile) } : tokenText && { text: new Secret(tokenText) };
  const name = text(given, "username");
  const password = new Secret(text(given, "password") ?? "");
  const impersonate = impersonation(given);
  if (given["auth-provider"] !== undefined && given.exec === undefined)
    throw invalid(`the user of context ${context} has an auth-provider, which Kubernetes has removed; use exec`);
  return {
    ...(token && { token }),
    ...(name !== undefined && { basic: { user: name, password } }),
    ...(clientCertificate !== undefined && { clientCertificate }),
    ...(clientKey !== undefined && { clientKey }),
    ...(given.exec !== undefined && { exec: execPlugin(members(given.exec, "exec"), folder, context) }),
    ...(impersonate !== undefined && { impersonate }),
  };
}

function impersonation(given: Members): Impersonation | undefined {
  const user = text(given, "as");
  if (user === undefined) return undefined;
  const uid = text(given, "as-uid");
  const extra = Object.entries(members(given["as-user-extra"] ?? {}, "as-user-extra"));
  return {
    user,
    groups: texts(given["as-groups"]),
    extra: Object.fromEntries(extra.map(([key, values]) => [key, texts(values)])),
    ...(uid !== undefined && { uid }),
  };
}

const EXEC_VERSIONS = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

function execPlugin(given: Members, folder: string, context: string): ExecPlugin {
  const apiVersion = text(given, "apiVersion") ?? "";
  const command = text(given, "command") ?? "";
  if (!EXEC_VERSIONS.includes(apiVersion))
    throw invalid(
      `exec of context ${context}: apiVersion ${JSON.stringify(apiVersion)} is not one of ${EXEC_VERSIONS.join(", ")}`,
    );
  if (command === "") throw invalid(`exec of context ${context} has no command`);
  if (given.interactiveMode === "Always")
    throw invalid(`exec of context ${context} wants a terminal (interactiveMode Always), and there is none here`);
  const variables = Array.isArray(given.env) ? given.env.map((each) => members(each, "exec.env")) : [];
  return {
    apiVersion,
    // A bare name is searched in PATH.
    command: command.includes("/") ? resolve(folder, command) : command,
    args: texts(given.args),
    env: Object.fromEntries(variables.map((each) => [text(each, "name") ?? "", text(each, "value") ?? ""])),
    installHint: text(given, "installHint"),
    provideClusterInfo: given.provideClusterInfo === true,
  };
}

/** Inline data counts before the file. */
function material({ members: given, folder }: Entry, data: string, file: string): Material | undefined {
  const inline = text(given, data);
  if (inline !== undefined) return { text: new Secret(Buffer.from(inline, "base64").toString("utf8")) };
  const path = text(given, file);
  return path === undefined ? undefined : { file: resolve(folder, path) };
}

export function members(value: unknown, where: string): Members {
  if (isJsonObject(value)) return value;
  throw invalid(`kubeconfig ${where} is not a map`);
}

/** Empty text is as good as none, as for kubectl. */
export function text(given: Members, member: string): string | undefined {
  const value = given[member];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

export function invalid(message: string, cause?: unknown): KubernetesError {
  return new KubernetesError("invalid-config", message, { ...(cause !== undefined && { cause }) });
}
