import { Secret } from "../../base/secret.ts";
import type { ClusterAccess, Impersonation } from "./cluster-access.ts";
import { type PluginCredentials, runExecPlugin } from "./exec-plugin.ts";
import { MaterialReader } from "./material-reader.ts";

/** Of one request. */
export interface RequestCredentials {
  /** The header of that name. */
  readonly authorization: Secret | undefined;
  readonly certificate: { readonly cert: string; readonly key: Secret } | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
}

export interface Credentials {
  current(): Promise<RequestCredentials>;
  /** After a 401: true when the next `current` looks for others, false when these are all there are. */
  expire(): boolean;
}

/** A kubelet renews a token long before it expires. */
const TOKEN_FILE_MS = 10_000;
const CERTIFICATE_FILE_MS = 60_000;
/** A plugin is asked a little early: the request takes time, and clocks differ. */
const EXPIRY_LEEWAY_MS = 10_000;

export function createCredentials(
  access: ClusterAccess,
  env: Readonly<NodeJS.ProcessEnv>,
  now: () => number = Date.now,
): Credentials {
  const { token, basic, clientCertificate, clientKey, exec, impersonate } = access.user;
  const tokens = token && new MaterialReader(token, TOKEN_FILE_MS);
  const cert = clientCertificate && new MaterialReader(clientCertificate, CERTIFICATE_FILE_MS);
  const key = clientKey && new MaterialReader(clientKey, CERTIFICATE_FILE_MS);
  const headers = impersonate === undefined ? {} : impersonationHeaders(impersonate);
  let plugin: PluginCredentials | undefined;
  let running: Promise<PluginCredentials> | undefined;

  const fromPlugin = async (): Promise<PluginCredentials | undefined> => {
    if (exec === undefined) return undefined;
    if (plugin !== undefined && (plugin.expiresAt === undefined || now() < plugin.expiresAt - EXPIRY_LEEWAY_MS))
      return plugin;
    // Requests that come while it runs wait for the same run.
    running ??= runExecPlugin(exec, access, env).finally(() => {
      running = undefined;
    });
    plugin = await running;
    return plugin;
  };
  return {
    async current() {
      const given = await fromPlugin();
      const bearer = given?.token?.reveal() ?? (tokens && (await tokens.get()).reveal().trim());
      const login = basic && Buffer.from(`${basic.user}:${basic.password.reveal()}`).toString("base64");
      const own = cert && key && { cert: (await cert.get()).reveal(), key: await key.get() };
      const authorization = bearer ? `Bearer ${bearer}` : login && `Basic ${login}`;
      return {
        authorization: authorization ? new Secret(authorization) : undefined,
        certificate: given?.certificate ?? own,
        headers,
      };
    },
    expire() {
      plugin = undefined;
      for (const reader of [tokens, cert, key]) reader?.expire();
      const files = [token, clientCertificate, clientKey].filter((each) => each !== undefined && "file" in each);
      return exec !== undefined || files.length > 0;
    },
  };
}

function impersonationHeaders({ user, uid, groups, extra }: Impersonation): RequestCredentials["headers"] {
  return {
    "impersonate-user": user,
    ...(uid !== undefined && { "impersonate-uid": uid }),
    ...(groups.length > 0 && { "impersonate-group": groups }),
    ...Object.fromEntries(
      Object.entries(extra).map(([name, values]) => [
        `impersonate-extra-${encodeURIComponent(name).toLowerCase()}`,
        values,
      ]),
    ),
  };
}
