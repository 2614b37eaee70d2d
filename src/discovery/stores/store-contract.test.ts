import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { workloadEntry } from "../../../test/support/discovery/objects.ts";
import { describeConfigStore, type StoreSetup } from "../../../test/support/discovery/store-contract.ts";
import { startHttpServer } from "../../../test/support/net/http-server.ts";
import { silentLogger } from "../../base/logger.ts";
import { createConsulClient } from "../../consul/index.ts";
import { objectKey } from "../../istio-api/config-object.ts";
import { DIRECT_PARSER } from "../parse/config-parser.ts";
import { combineStores } from "./config-snapshot.ts";
import { createKubernetesStore, decodeRule, type KubernetesRule } from "./create-kubernetes-store.ts";
import { createMemoryStore } from "./create-memory-store.ts";
import { startConsulStore } from "./start-consul-store.ts";
import { startFileStore } from "./start-file-store.ts";

const memory = async (): Promise<StoreSetup> => {
  const store = createMemoryStore({ now: () => 1000 });
  return {
    store,
    put: async (document) => void store.put(document),
    remove: async (name) => void store.delete({ kind: "WorkloadEntry", namespace: "prod", name }),
    [Symbol.asyncDispose]: async () => undefined,
  };
};

const files = async (): Promise<StoreSetup> => {
  const dir = await mkdtemp(join(tmpdir(), "store-"));
  const store = await startFileStore({ dir, log: silentLogger, quietMs: 5 });
  const fileOf = (document: Record<string, unknown>) =>
    join(dir, `${(document.metadata as { name: string }).name}.yaml`);
  return {
    store,
    put: (document) => writeFile(fileOf(document), JSON.stringify(document)),
    remove: (name) => rm(join(dir, `${name}.yaml`)),
    [Symbol.asyncDispose]: async () => {
      await store.stop();
      await rm(dir, { recursive: true });
    },
  };
};

const combined = async (): Promise<StoreSetup> => {
  const inner = await memory();
  const store = combineStores([createMemoryStore(), inner.store]);
  return { ...inner, store, [Symbol.asyncDispose]: async () => store.close() };
};

const kubernetes = async (): Promise<StoreSetup> => {
  const store = createKubernetesStore(() => true);
  const change = (key: string, rule: KubernetesRule | undefined) => {
    store.set(key, rule);
    store.commit();
  };
  return {
    store,
    put: async (document) => {
      const rule = decodeRule(document);
      change(rule === undefined ? "?" : objectKey(rule.ref), rule);
    },
    remove: async (name) => change(objectKey({ kind: "WorkloadEntry", namespace: "prod", name }), undefined),
    [Symbol.asyncDispose]: async () => undefined,
  };
};

/** Keys of a Consul that answers a blocking query when they change. */
const consul = async (): Promise<StoreSetup> => {
  const values = new Map<string, string>();
  const held = new Set<() => void>();
  let index = 1;
  const change = () => {
    index += 1;
    for (const answer of held) answer();
    held.clear();
  };
  const server = await startHttpServer(({ url = "" }, response) => {
    const answer = () => {
      const entries = [...values].map(([Key, text]) => ({ Key, Value: Buffer.from(text).toString("base64") }));
      response.setHeader("x-consul-index", String(index)).end(JSON.stringify(entries));
    };
    if (Number(new URL(url, "http://consul").searchParams.get("index") ?? 0) < index) answer();
    else held.add(answer);
  });
  const client = createConsulClient({ url: server.url });
  const store = startConsulStore({ client, prefix: "rules", parser: DIRECT_PARSER, log: silentLogger });
  await store.synced;
  return {
    store,
    put: async (document) => {
      values.set(`rules/${(document.metadata as { name: string }).name}`, JSON.stringify(document));
      change();
    },
    remove: async (name) => {
      values.delete(`rules/${name}`);
      change();
    },
    [Symbol.asyncDispose]: async () => {
      await store.stop();
      client.close();
      await server[Symbol.asyncDispose]();
    },
  };
};

describeConfigStore("memory", memory);
describeConfigStore("Consul", consul);
describeConfigStore("Kubernetes", kubernetes);
describeConfigStore("files", files);
describeConfigStore("combined", combined);

describe("the memory store", () => {
  test("answers a put with the object or with everything that is wrong", () => {
    const store = createMemoryStore({ now: () => 5 });
    expect(store.put(workloadEntry("a"))).toMatchObject({
      stored: true,
      created: true,
      object: { creationTime: 5 },
      problems: [],
    });
    expect(store.put(workloadEntry("a", { weight: 2 }))).toMatchObject({ stored: true, created: false });
    expect(store.put(workloadEntry("b", { address: "a_b", ports: { x: 0 } }))).toEqual({
      stored: false,
      problems: [
        {
          field: "spec.address",
          severity: "error",
          message: 'endpoint address "a_b" is not a valid FQDN or an IP address',
        },
        { field: "spec.ports.x", severity: "error", message: "port number 0 must be in the range 1..65535" },
      ],
    });
    expect(store.put({ kind: "Pod" })).toEqual({
      stored: false,
      problems: [{ field: "kind", severity: "error", message: 'unknown kind "Pod"' }],
    });
    for (const junk of [undefined, null, 5, "x", [], () => 1]) expect(store.put(junk).stored).toBe(false);
    expect(store.delete({ kind: "WorkloadEntry", namespace: "prod", name: "b" })).toBe(false);
  });

  test("is not changed through a document that was put or read", () => {
    const store = createMemoryStore();
    const document = workloadEntry("a", { labels: { x: "1" } });
    store.put(document);
    (document.spec as { address: string }).address = "10.9.9.9";
    const object = store.snapshot.get("WorkloadEntry", "prod", "a");
    expect(object?.spec.address).toBe("10.0.0.1");
    expect(() => Object.assign(object?.spec.labels ?? {}, { x: "2" })).toThrow(TypeError);
  });
});

test("of two stores with the same object the earlier counts until it is gone there", () => {
  const [first, second] = [createMemoryStore(), createMemoryStore()];
  using store = Object.assign(combineStores([first, second]), { [Symbol.dispose]: () => undefined });
  second.put(workloadEntry("a", { address: "10.0.0.2" }));
  first.put(workloadEntry("a", { address: "10.0.0.1" }));
  const address = () => store.snapshot.get("WorkloadEntry", "prod", "a")?.spec.address;
  expect(address()).toBe("10.0.0.1");
  first.delete({ kind: "WorkloadEntry", namespace: "prod", name: "a" });
  expect(address()).toBe("10.0.0.2");
  store.close();
});
