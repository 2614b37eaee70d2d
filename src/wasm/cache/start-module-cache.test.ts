import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { wasmModule } from "../../../test/support/wasm/resources.ts";
import { silentLogger } from "../../base/logger.ts";
import { MetricRegistry } from "../../base/metric-registry.ts";
import type { PullPolicy, RemoteModule } from "../core/remote-module.ts";
import { declareWasmMetrics } from "../metrics.ts";
import { contentFile, sha256 } from "./module-files.ts";
import { type FoundModule, startModuleCache } from "./start-module-cache.ts";

const HOUR = 3_600_000;
let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "wasm-cache-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function ask(url: string, more: Partial<RemoteModule> = {}): RemoteModule {
  return {
    url,
    checksum: "",
    timeoutMs: 5000,
    pullSecret: undefined,
    pullPolicy: "unspecified",
    resourceName: "r",
    resourceVersion: "1",
    ...more,
  };
}

/** What the network holds: a module by address. Image manifests have a checksum of their own. */
function open(
  network: Record<string, Buffer>,
  options: { now?: () => number; isInUse?: (path: string) => boolean; expiryMs?: number } = {},
) {
  const registry = new MetricRegistry();
  const seen = { finds: 0, loads: 0 };
  const cache = startModuleCache({
    directory,
    expiryMs: 24 * HOUR,
    purgeIntervalMs: HOUR,
    find: async ({ url }): Promise<FoundModule> => {
      seen.finds += 1;
      const module = network[url];
      if (module === undefined) throw new Error(`nothing at ${url}`);
      const checksum = url.startsWith("oci:") ? sha256(`manifest of ${module.toString("latin1")}`) : sha256(module);
      const load = async () => {
        seen.loads += 1;
        return module;
      };
      return { checksum, checksums: [checksum], load };
    },
    isInUse: () => false,
    metrics: declareWasmMetrics(registry),
    log: silentLogger,
    ...options,
  });
  return { cache, seen, metrics: () => registry.render(), [Symbol.asyncDispose]: () => cache.stop() };
}

const URL_ = "http://x/m";
const TAG = "oci://ghcr.io/org/app:v1";
const module = wasmModule("one");

test("a module is fetched once and then found, by address or checksum", async () => {
  await using opened = open({ [URL_]: module });
  const path = await opened.cache.get(ask(URL_));
  expect(path).toBe(join(directory, sha256(URL_), `${sha256(module)}.wasm`));
  expect(statSync(path).mode & 0o777).toBe(0o644);
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o755);
  expect(await opened.cache.get(ask(URL_, { resourceVersion: "2" }))).toBe(path);
  expect(await opened.cache.get(ask(URL_, { checksum: sha256(module), pullPolicy: "always" }))).toBe(path);
  expect(opened.seen).toEqual({ finds: 1, loads: 1 });
  expect(opened.metrics()).toContain('istio_agent_wasm_cache_lookup_count{hit="true"} 2');
  expect(opened.metrics()).toContain('istio_agent_wasm_cache_lookup_count{hit="false"} 2');
});

test("many who want it at once cause one download", async () => {
  await using opened = open({ [URL_]: module });
  const paths = await Promise.all(
    Array.from({ length: 50 }, (_, index) => opened.cache.get(ask(URL_, { resourceName: `r${index}` }))),
  );
  expect(new Set(paths).size).toBe(1);
  expect(opened.seen).toEqual({ finds: 1, loads: 1 });
});

test.each<{ url: string; policies: readonly PullPolicy[]; versions: readonly string[]; finds: number }>([
  { url: TAG, policies: ["unspecified", "unspecified"], versions: ["1", "2"], finds: 1 },
  { url: TAG, policies: ["always", "always"], versions: ["1", "1"], finds: 1 },
  { url: TAG, policies: ["always", "always"], versions: ["1", "2"], finds: 2 },
  { url: TAG, policies: ["always", "if-not-present", "always"], versions: ["1", "2", "2"], finds: 1 },
  { url: "oci://ghcr.io/org/app:latest", policies: ["unspecified", "unspecified"], versions: ["1", "2"], finds: 2 },
  {
    url: "oci://ghcr.io/org/app:latest",
    policies: ["if-not-present", "if-not-present"],
    versions: ["1", "2"],
    finds: 1,
  },
])(
  "$url with $policies for versions $versions asks the registry $finds times",
  async ({ url, policies, versions, finds }) => {
    await using opened = open({ [url]: module });
    for (const [index, pullPolicy] of policies.entries()) {
      await opened.cache.get(ask(url, { pullPolicy, resourceVersion: versions[index] ?? "" }));
    }
    // The digest did not change, so the content is never loaded twice.
    expect(opened.seen).toEqual({ finds, loads: 1 });
  },
);

test("a tag that moved gives the new content, and the digest of the old one still the old", async () => {
  const network = { [TAG]: module };
  await using opened = open(network);
  const before = await opened.cache.get(ask(TAG, { pullPolicy: "always" }));
  network[TAG] = wasmModule("two");
  const after = await opened.cache.get(ask(TAG, { pullPolicy: "always", resourceVersion: "2" }));
  expect(after).not.toBe(before);
  const digest = before.slice(-69, -5);
  expect(await opened.cache.get(ask(`oci://ghcr.io/org/app@sha256:${digest}`))).toBe(before);
  expect(opened.seen.finds).toBe(2);
});

test("another address with a known checksum is asked, and its own content compared", async () => {
  await using opened = open({ [URL_]: module, "http://y/m": wasmModule("other") });
  await opened.cache.get(ask(URL_));
  await expect(opened.cache.get(ask("http://y/m", { checksum: sha256(module) }))).rejects.toMatchObject({
    code: "checksum-mismatch",
  });
});

test("content that is not a module is not stored", async () => {
  await using opened = open({ [URL_]: Buffer.from("no module") });
  await expect(opened.cache.get(ask(URL_))).rejects.toMatchObject({ code: "invalid-module" });
  expect(readdirSync(directory)).toEqual([]);
});

test("a folder that cannot be written fails the module and leaves nothing half-written", async () => {
  writeFileSync(join(directory, sha256(URL_)), "in the way");
  await using opened = open({ [URL_]: module });
  await expect(opened.cache.get(ask(URL_))).rejects.toThrow();
  expect(readdirSync(directory)).toEqual([sha256(URL_)]);
});

describe("files", () => {
  test.each([
    { what: "vanished", spoil: (path: string) => rmSync(path) },
    { what: "was cut", spoil: (path: string) => writeFileSync(path, module.subarray(0, 8)) },
  ])("one that $what is fetched again", async ({ spoil }) => {
    await using opened = open({ [URL_]: module });
    const path = await opened.cache.get(ask(URL_));
    spoil(path);
    expect(await opened.cache.get(ask(URL_))).toBe(path);
    expect(readFileSync(path).equals(module)).toBe(true);
    expect(opened.seen.finds).toBe(2);
  });

  test.each([
    { url: URL_, asked: (checksum: string) => ask(URL_, { checksum }) },
    { url: TAG, asked: (checksum: string) => ask(`oci://ghcr.io/org/app@sha256:${checksum}`) },
  ])("one of an earlier run is used again: $url", async ({ url, asked }) => {
    let path = "";
    {
      await using first = open({ [url]: module });
      path = await first.cache.get(ask(url));
    }
    await using second = open({});
    expect(await second.cache.get(asked(path.slice(-69, -5)))).toBe(path);
    expect(second.seen.finds).toBe(0);
    expect(second.metrics()).toContain("istio_agent_wasm_cache_entries 1");
  });

  test("after a restart a tag costs the manifest only", async () => {
    {
      await using first = open({ [TAG]: module });
      await first.cache.get(ask(TAG));
    }
    await using second = open({ [TAG]: module });
    await second.cache.get(ask(TAG));
    expect(second.seen).toEqual({ finds: 1, loads: 0 });
  });

  test.each([
    { what: "other content", spoil: (path: string) => writeFileSync(path, wasmModule("two")) },
    { what: "no content", spoil: (path: string) => writeFileSync(path, "") },
    { what: "no record of an image's content", spoil: (path: string) => rmSync(contentFile(path)) },
  ])("one of an earlier run with $what is not", async ({ spoil }) => {
    let path = "";
    {
      await using first = open({ [TAG]: module });
      path = await first.cache.get(ask(TAG));
    }
    spoil(path);
    await using second = open({ [TAG]: module });
    expect(await second.cache.get(ask(TAG))).toBe(path);
    expect(second.seen.loads).toBe(1);
    expect(readFileSync(path).equals(module)).toBe(true);
  });
});

describe("purging", () => {
  test("takes what was not used for the expiry, with its addresses, and nothing else", async () => {
    let time = Date.now();
    await using opened = open({ [URL_]: module, [TAG]: module }, { now: () => time });
    const old = await opened.cache.get(ask(TAG));
    const used = await opened.cache.get(ask(URL_));
    time += 23 * HOUR;
    await opened.cache.get(ask(URL_));
    await opened.cache.purge();
    expect([old, used].map(existsSync)).toEqual([true, true]);
    time += 2 * HOUR;
    await opened.cache.purge();
    expect([old, used, dirname(old), contentFile(old)].map(existsSync)).toEqual([false, true, false, false]);
    expect(opened.metrics()).toContain("istio_agent_wasm_cache_entries 1");
    await opened.cache.get(ask(TAG));
    expect(opened.seen).toEqual({ finds: 3, loads: 3 });
  });

  test("leaves what the proxy still uses", async () => {
    let time = Date.now();
    let path = "";
    await using opened = open({ [URL_]: module }, { now: () => time, isInUse: (asked) => asked === path });
    path = await opened.cache.get(ask(URL_));
    time += 100 * HOUR;
    await opened.cache.purge();
    expect(existsSync(path)).toBe(true);
    path = "";
    await opened.cache.purge();
    expect(readdirSync(directory)).toHaveLength(1);
    // Its time begins when it was last seen in use.
    time += 25 * HOUR;
    await opened.cache.purge();
    expect(readdirSync(directory)).toEqual([]);
  });

  test("takes old files of earlier runs, half-written ones too, and no foreign ones", async () => {
    const folder = join(directory, "a".repeat(64));
    mkdirSync(folder);
    mkdirSync(join(directory, "foreign"));
    const names = {
      old: `${"b".repeat(64)}.wasm`,
      young: `${"c".repeat(64)}.wasm`,
      half: `.${"d".repeat(64)}.wasm.k3zq9x.tmp`,
    };
    const past = new Date(Date.now() - 25 * HOUR);
    for (const path of [
      join(folder, names.old),
      join(folder, names.half),
      join(folder, "notes.txt"),
      join(directory, "foreign", names.old),
    ]) {
      writeFileSync(path, "x");
      utimesSync(path, past, past);
    }
    writeFileSync(join(folder, names.young), "x");
    await using opened = open({});
    await opened.cache.purge();
    expect(readdirSync(folder).sort()).toEqual([names.young, "notes.txt"].sort());
    expect(readdirSync(join(directory, "foreign"))).toEqual([names.old]);
  });

  test("a folder that is not there is not an error", async () => {
    rmSync(directory, { recursive: true });
    await using opened = open({});
    await opened.cache.purge();
    expect(existsSync(directory)).toBe(false);
  });
});

describe("two agents with one directory", () => {
  test("leave each other's files alone while one of them asks for them or its proxy uses them", async () => {
    let time = Date.now();
    const now = () => time;
    let path = "";
    await using one = open({ [TAG]: module }, { now });
    await using other = open({ [TAG]: module }, { now, isInUse: (asked) => asked === path });
    const shared = await one.cache.get(ask(TAG));
    expect(await other.cache.get(ask(TAG))).toBe(shared);
    expect(other.seen).toEqual({ finds: 1, loads: 0 });
    time += 23 * HOUR;
    await other.cache.get(ask(TAG));
    time += 2 * HOUR;
    // The first has not used it for a day and forgets it; the second has.
    await one.cache.purge();
    expect([shared, contentFile(shared)].map(existsSync)).toEqual([true, true]);
    expect(one.metrics()).toContain("istio_agent_wasm_cache_entries 0");
    path = shared;
    for (let hour = 0; hour < 50; hour += 1) {
      time += HOUR;
      await other.cache.purge();
      await one.cache.purge();
    }
    expect([shared, contentFile(shared)].map(existsSync)).toEqual([true, true]);
    path = "";
    time += 25 * HOUR;
    await one.cache.purge();
    expect(readdirSync(directory)).toEqual([]);
    // What the other has taken away is fetched again.
    expect(await other.cache.get(ask(TAG))).toBe(shared);
    expect(existsSync(shared)).toBe(true);
  });

  test("write and purge at once without a failure", async () => {
    const network = { [URL_]: module };
    await using writing = open(network);
    await using purging = open({}, { expiryMs: 1 });
    let isDone = false;
    const purges = (async () => {
      while (!isDone) await purging.cache.purge();
    })();
    for (let index = 0; index < 150; index += 1) {
      network[URL_] = wasmModule(`version ${index}`);
      const asked = ask(URL_, { checksum: sha256(network[URL_]), resourceVersion: `${index}` });
      expect(await writing.cache.get(asked)).toContain(sha256(network[URL_]));
    }
    isDone = true;
    await purges;
  });

  test("fetch the same at once, each whole", async () => {
    const large = Buffer.concat([module, Buffer.alloc(2 * 1024 * 1024, 1)]);
    await using one = open({ [URL_]: large });
    await using other = open({ [URL_]: large });
    const paths = await Promise.all([one, other].map(({ cache }) => cache.get(ask(URL_))));
    expect(new Set(paths).size).toBe(1);
    expect(readFileSync(paths[0] ?? "").equals(large)).toBe(true);
    expect(readdirSync(dirname(paths[0] ?? ""))).toHaveLength(1);
  });
});

test("stopping ends a download that is under way", async () => {
  let begun: () => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const cache = startModuleCache({
    directory,
    expiryMs: HOUR,
    purgeIntervalMs: HOUR,
    find: (_module, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("stopped")));
        begun();
      }),
    isInUse: () => false,
    metrics: declareWasmMetrics(new MetricRegistry()),
    log: silentLogger,
  });
  const waiting = expect(cache.get(ask(URL_))).rejects.toThrow("stopped");
  await started;
  await cache.stop();
  await waiting;
});
