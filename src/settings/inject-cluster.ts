import type { CloseStack } from "../base/close-stack.ts";
import { errorCode, errorMessage } from "../base/coded-error.ts";
import { isJsonObject } from "../base/json-object.ts";
import { parseGoYaml } from "../files/yaml/parse-go-yaml.ts";
import { InjectError, type ReviewCall } from "../inject/index.ts";
import { createKubernetesClient, findClusterAccess } from "../kubernetes/index.ts";
import type { FlagValues } from "./flag-values.ts";
import { findInjectionWebhook } from "./inject-webhook.ts";

type Document = Record<string, unknown>;
type Client = ReturnType<typeof createKubernetesClient>;

/** What a cluster has for `kube-inject`; what its flags give as files is not asked for. */
export interface ClusterInjection {
  /** Asked for each pod, unless a file or a named ConfigMap has the templates; absent where there is none. */
  readonly webhook?: ReviewCall;
  readonly warnings: readonly string[];
  readonly config?: Document;
  readonly values?: Document;
  readonly meshConfig?: Document;
  /** Versions of the nodes; undefined where they may not be seen. */
  readonly kubelets: readonly string[] | undefined;
  readonly revision: string;
}

const MESH_MAP = "istio";
const INJECT_MAP = "istio-sidecar-injector";
const WEBHOOKS = { group: "admissionregistration.k8s.io", version: "v1", plural: "mutatingwebhookconfigurations" };

/** Reads what is needed; the connection is open for the webhook until it is closed. Rejects with what is missing and which flag helps. */
export async function readClusterInjection(
  flags: FlagValues,
  env: Readonly<Record<string, string | undefined>>,
  opened: CloseStack,
): Promise<ClusterInjection> {
  const context = flags.string("context");
  const found = await findClusterAccess({
    kubeconfig: flags.string("kubeconfig"),
    ...(context !== "" && { context }),
    env,
  });
  const [user, groups] = [flags.string("as"), flags.stringArray("as-group")];
  const uid = flags.string("as-uid");
  const impersonate = { user, groups, extra: {}, ...(uid !== "" && { uid }) };
  const access = user === "" ? found : { ...found, user: { ...found.user, impersonate } };
  const timeoutMs = Number(flags.duration("kubeclient-timeout")) / 1e6;
  const client = createKubernetesClient({ access, env, timeoutMs });
  opened.defer(() => client.stop());
  const revision = flags.string("revision") || (await defaultRevision(client));
  const namespace = flags.string("istioNamespace");
  const named = (flag: string, usual: string) => {
    const name = flags.string(flag);
    return name === usual && revision !== "" && revision !== "default" ? `${name}-${revision}` : name;
  };
  const wantsConfig = flags.string("injectConfigFile") === "";
  const search = { client, revision, xdsAddress: flags.string("xds-address") };
  const asksWebhook = wantsConfig && !flags.changed("injectConfigMapName");
  const webhook = asksWebhook ? await findInjectionWebhook(search).catch(ignoreForbidden) : undefined;
  const map = { namespace, name: named("injectConfigMapName", INJECT_MAP), flag: "injectConfigMapName" };
  // With a webhook maps are for those pods alone that it answers without a patch for; the built-in settings do without them.
  const read = (place: MapPlace) => {
    const reading = readMap(client, place);
    return webhook === undefined ? reading : reading.catch(() => undefined);
  };
  const meshMap =
    flags.string("meshConfigFile") === ""
      ? await read({ namespace, name: named("meshConfigMapName", MESH_MAP), flag: "meshConfigMapName" })
      : undefined;
  const injectMap = wantsConfig || flags.string("valuesFile") === "" ? await read(map) : undefined;
  const missing = `no webhook "${flags.string("webhookConfig")}" of revision ${revision || "default"} is found; templates are those of ConfigMap "${map.name}"`;
  return {
    ...(webhook && { webhook }),
    warnings: asksWebhook && webhook === undefined ? [missing] : [],
    ...(meshMap && { meshConfig: meshMap("mesh") }),
    ...(injectMap && wantsConfig && { config: injectMap("config") }),
    ...(injectMap && flags.string("valuesFile") === "" && { values: injectMap("values") }),
    kubelets: await kubeletVersions(client),
    revision,
  };
}

interface MapPlace {
  readonly namespace: string;
  readonly name: string;
  readonly flag: string;
}

/** A reader of the keys of a ConfigMap, each a YAML map. */
async function readMap(client: Client, { namespace, name, flag }: MapPlace): Promise<(key: string) => Document> {
  const resource = { group: "", version: "v1", plural: "configmaps", namespace };
  const map = await client.get(resource, name).catch((failure: unknown) => {
    if (errorCode(failure) !== "not-found") throw failure;
    const text = `ConfigMap "${name}" is not in namespace "${namespace}": name it with --${flag}, its namespace with --istioNamespace, or the revision with --revision`;
    throw new InjectError("invalid-settings", text, { cause: failure });
  });
  return (key) => {
    const text: unknown = isJsonObject(map.data) ? map.data[key] : undefined;
    if (typeof text !== "string") {
      throw new InjectError("invalid-settings", `missing configuration map key "${key}" in "${name}"`);
    }
    try {
      const document = parseGoYaml(text) ?? {};
      if (isJsonObject(document)) return document;
      throw new Error(`it holds ${JSON.stringify(document)}, allowed is a map`);
    } catch (failure) {
      const place = `ConfigMap ${namespace}/${name}, key ${key}`;
      throw new InjectError("invalid-settings", `${place}: ${errorMessage(failure)}`, { cause: failure });
    }
  };
}

/** Not everybody may see webhooks. */
function ignoreForbidden(failure: unknown): undefined {
  if (errorCode(failure) !== "forbidden") throw failure;
}

/** Of the tag `default`; none where webhooks may not be seen. */
async function defaultRevision(client: Client): Promise<string> {
  const resource = { ...WEBHOOKS, labelSelector: "istio.io/tag=default" };
  const [tagged] = await listed(client, resource);
  return tagged?.metadata.labels?.["istio.io/rev"] ?? "";
}

async function kubeletVersions(client: Client): Promise<readonly string[] | undefined> {
  const nodes = await listed(client, { group: "", version: "v1", plural: "nodes" });
  const versions = nodes.map(({ status }) => {
    const info = isJsonObject(status) && isJsonObject(status.nodeInfo) ? status.nodeInfo : {};
    return String(info.kubeletVersion ?? "");
  });
  return versions.length === 0 ? undefined : versions;
}

/** Not everybody may list these, and injection works without. */
async function listed(client: Client, resource: Parameters<Client["list"]>[0]) {
  try {
    return (await client.list(resource)).items;
  } catch (failure) {
    if (errorCode(failure) === "forbidden") return [];
    throw failure;
  }
}
