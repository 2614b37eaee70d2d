import type { CloseStack } from "../base/close-stack.ts";
import type { Logger } from "../base/logger.ts";
import { createConsulClient, startCatalogWatch } from "../consul/index.ts";
import { readFileLimited, readTextLimited } from "../files/read-file.ts";
import type { ConfigStore } from "../mesh-model/config-store.ts";
import type { ConsulSettings } from "../settings/discovery-settings.ts";
import type { KindFreshness } from "./kubernetes-source.ts";
import type { ConfigParser } from "./parse/config-parser.ts";
import { type ConsulRegistry, createConsulRegistry } from "./registries/consul/create-consul-registry.ts";
import type { EndpointOrigin } from "./registries/convert-workload.ts";
import { startConsulStore } from "./stores/start-consul-store.ts";

export interface ConnectedConsul {
  readonly registry: ConsulRegistry;
  /** Rule objects of the key/value store, where a prefix is given. */
  readonly store: ConfigStore | undefined;
  /** Resolves when everything has been read once. */
  readonly synced: Promise<unknown>;
  /** When a datacenter that has not been read yet last answered, by `Date.now`; 0 before the first time. */
  answeredAt(): number;
  /** Of the catalog of each datacenter. */
  freshness(): readonly KindFreshness[];
}

/** How long material of files counts; a rotated token or certificate is there before the old one ends. */
const FILES_MS = 5000;

/** Services and rules of Consul, followed from here on. A Consul that is away blocks nothing: what it has comes when it answers. */
export function connectConsul(
  settings: ConsulSettings,
  { parser, log, opened, ...origin }: EndpointOrigin & { parser: ConfigParser; log: Logger; opened: CloseStack },
): ConnectedConsul {
  const { url, namespace, rulesPrefix } = settings;
  const material = {
    token: createTokenReader(settings),
    ...(settings.tlsFiles !== undefined || settings.serverName !== undefined ? { tls: createTlsReader(settings) } : {}),
    ...(namespace !== undefined && { namespace }),
  };
  const open = (datacenter: string | undefined) =>
    opened.add(createConsulClient({ url, ...material, ...(datacenter !== undefined && { datacenter }) }));
  const names = settings.datacenters.length === 0 ? [undefined] : settings.datacenters;
  const registry = createConsulRegistry({ ...origin, log, isSynced: () => watches.every(({ isSynced }) => isSynced) });
  const watches = names.map((datacenter) =>
    opened.add(
      startCatalogWatch({
        client: open(datacenter),
        datacenter: datacenter ?? "",
        log,
        onChange: (changed) => registry.apply(datacenter ?? "", changed),
      }),
    ),
  );
  const store =
    rulesPrefix === undefined
      ? undefined
      : opened.add(startConsulStore({ client: open(names[0]), prefix: rulesPrefix, parser, log }));
  const freshness = () =>
    watches.map((watch, at): KindFreshness => {
      const problem = watch.failure();
      return {
        resource: names[at] === undefined ? "catalog" : `catalog ${names[at]}`,
        provedAt: watch.provedAt(),
        state: problem === undefined ? "watching" : "waiting",
        resourceVersion: undefined,
        problem,
        problemCode: problem === undefined ? undefined : "unreachable",
        isSynced: watch.isSynced,
        objects: watch.services,
        repaired: watch.repaired(),
      };
    });
  const synced = Promise.all([...watches.map((watch) => watch.synced), store?.synced]);
  const answeredAt = () => {
    const waiting = watches.filter(({ isSynced }) => !isSynced);
    return Math.max(0, ...waiting.map((watch) => watch.answeredAt() ?? 0));
  };
  return { registry, store, synced, answeredAt, freshness };
}

function createTokenReader({ token, tokenFile }: ConsulSettings): () => Promise<string | undefined> {
  if (tokenFile === undefined) return async () => token?.reveal();
  return memoizeFor(FILES_MS, async () => (await readTextLimited(tokenFile)).trim());
}

function createTlsReader({ tlsFiles = {}, serverName }: ConsulSettings) {
  return memoizeFor(FILES_MS, async () => {
    const { ca, certificate, key } = tlsFiles;
    return {
      ...(ca !== undefined && { ca: await readFileLimited(ca) }),
      ...(certificate !== undefined && { cert: await readFileLimited(certificate) }),
      ...(key !== undefined && { key: await readFileLimited(key) }),
      ...(serverName !== undefined && { servername: serverName }),
    };
  });
}

/** A failure is not memoized. */
function memoizeFor<Value>(ms: number, read: () => Promise<Value>): () => Promise<Value> {
  let last: { readonly value: Value; readonly at: number } | undefined;
  return async () => {
    if (last === undefined || Date.now() - last.at > ms) last = { value: await read(), at: Date.now() };
    return last.value;
  };
}
