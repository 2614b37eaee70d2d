import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import type { KeyPairSecret } from "../../src/identity/secrets.ts";
import { type SecretManager, startSecretManager } from "../../src/identity/start-secret-manager.ts";
import { declareSdsMetrics } from "../../src/sds/metrics.ts";
import { type SdsServer, startSdsServer } from "../../src/sds/start-sds-server.ts";
import { createTestCa, createTestCaClient, type TestCaClient } from "../support/certs/test-ca.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/files/temporary-folder.ts";
import { type RecordedLog, recordLog } from "../support/log/recording-log.ts";
import { needs } from "../support/needs.ts";
import { connectSds, decodeSecrets, node, SECRET_TYPE, type TestSdsClient } from "../support/sds/client.ts";
import { managerOptions } from "../support/sds/manager.ts";
import { until } from "../support/wait/until.ts";

const ca = await createTestCa();
let directory: TemporaryFolder;
let caClient: TestCaClient;
let manager: SecretManager;
let server: SdsServer;
let client: TestSdsClient;
let log: RecordedLog;
/** Every key that was handed out; none of them may show up in a log line. */
let keys: Set<string>;

const at = (...parts: string[]) => join(directory.path, ...parts);
const ask = (...resource_names: string[]) => ({ node: node(), type_url: SECRET_TYPE, resource_names });

beforeEach(async () => {
  directory = temporaryFolder();
  [log, keys] = [recordLog(), new Set()];
  caClient = createTestCaClient(ca);
});
afterEach(async () => {
  await client?.[Symbol.asyncDispose]();
  await server?.stop();
  await manager?.stop();
  await directory[Symbol.asyncDispose]();
  for (const key of keys) expect(log.printed.join("\n")).not.toContain(key);
});

async function start(given: Parameters<typeof managerOptions>[0] = { caClient }): Promise<void> {
  manager = await startSecretManager(managerOptions({ log, ...given }));
  const metrics = declareSdsMetrics(new MetricRegistry());
  server = await startSdsServer({ path: at("socket"), source: manager, metrics, log });
  client = connectSds(at("socket"));
}

/** The first line of the key's base64, which no other text contains by chance. */
async function rememberKey(): Promise<void> {
  const { privateKey } = (await manager.get("default")) as KeyPairSecret;
  keys.add(privateKey.reveal().toString().split("\n")[1] ?? "");
}

async function openDescriptors(): Promise<number> {
  return (await readdir("/proc/self/fd")).length;
}

const BAD_NAMES = [
  "foo",
  "",
  "file:x",
  "file-root:",
  "file-cert:~",
  "file-cert:a~",
  "file-cert:a~b~c",
  "kubernetes://x",
  "\0",
];
const HUGE_NAME = "x".repeat(1_000_000);

test.each([...BAD_NAMES, HUGE_NAME].map((name) => ({ shown: JSON.stringify(name.slice(0, 30)), name })))(
  "the name $shown ends its stream with an error and gives nothing away",
  async ({ name }) => {
    await start();
    await rememberKey();
    const stream = client.stream();
    stream.send(ask(name));
    const { code, details } = await stream.ended;
    expect(code).toBe(2);
    expect(details).toContain("resource name");
    for (const key of keys) expect(details).not.toContain(key);
    const next = client.stream();
    next.send(ask("default"));
    expect(decodeSecrets(await next.next())).toMatchObject([{ name: "default" }]);
  },
);

test("a hundred streams for a certificate that is not there yet share one CSR", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const signing = createTestCaClient(ca);
  const sign = signing.sign;
  await start({
    caClient: {
      ...signing,
      sign: async (...args) => {
        await held;
        return sign(...args);
      },
    },
  });
  const streams = Array.from({ length: 100 }, () => client.stream());
  for (const stream of streams) stream.send(ask("default"));
  release();
  const answers = await Promise.all(streams.map((stream) => stream.next()));
  expect(new Set(answers.map((answer) => answer.resources[0]?.value.toString("hex"))).size).toBe(1);
  expect(signing.calls).toBe(1);
  await rememberKey();
});

test("a CA that hangs holds up the workload's streams and no file's", async () => {
  caClient.answer = () => new Promise(() => undefined);
  await writeFile(at("root.pem"), ca.rootPem);
  await start({ caClient, tuning: { issueTimeoutMs: 300 } });
  const [workload, file] = [client.stream(), client.stream()];
  workload.send(ask("default"));
  file.send(ask(`file-root:${at("root.pem")}`));
  expect(decodeSecrets(await file.next())).toMatchObject([{ name: `file-root:${at("root.pem")}` }]);
  await expect(workload.ended).resolves.toMatchObject({
    details: expect.stringContaining("failed to generate workload certificate: the CA gave no answer within 300 ms"),
  });
});

test("a rotated file is pushed once it is complete; what is half-written is not", async () => {
  const [first, second] = [await ca.pair(["a.test"]), await ca.pair(["a.test"])];
  for (const pair of [first, second]) keys.add(pair.key.split("\n")[1] ?? "");
  await writeFile(at("cert"), first.cert);
  await writeFile(at("key"), first.key);
  await start();
  const stream = client.stream();
  stream.send(ask(`file-cert:${at("cert")}~${at("key")}`));
  await stream.next();
  await writeFile(at("key"), second.key.slice(0, 60));
  await writeFile(at("key"), second.key);
  await writeFile(at("cert"), second.cert.slice(0, 100));
  await writeFile(at("cert"), second.cert);
  const [secret] = decodeSecrets(await stream.next());
  expect(secret?.tls_certificate?.certificate_chain.inline_bytes.toString()).toBe(second.cert);
  expect(secret?.tls_certificate?.private_key?.inline_bytes.toString()).toBe(second.key);
  expect(stream.waiting).toEqual([]);
});

test("a deleted file ends its stream after the wait; when it returns a new stream gets it", async () => {
  await writeFile(at("root.pem"), ca.rootPem);
  await start({ caClient, fileWaitMs: 150 });
  const name = `file-root:${at("root.pem")}`;
  const stream = client.stream();
  stream.send(ask(name));
  await stream.next();
  await rm(at("root.pem"));
  await expect(stream.ended).resolves.toMatchObject({ details: expect.stringContaining("no such file or directory") });
  await writeFile(at("root.pem"), ca.rootPem);
  const next = client.stream();
  next.send(ask(name));
  expect(decodeSecrets(await next.next())).toMatchObject([{ name }]);
});

test("streams, watches and rotations leave no descriptor behind", async () => {
  await mkdir(at("files"));
  for (let index = 0; index < 20; index += 1) await writeFile(at("files", `${index}.pem`), ca.rootPem);
  caClient.ttlMs = 300;
  await start({ caClient, output: { directory: at("out"), readableByAll: false } });
  const round = async () => {
    const streams = Array.from({ length: 20 }, (_, index) => {
      const stream = client.stream();
      stream.send(ask(`file-root:${at("files", `${index}.pem`)}`, "default"));
      return stream;
    });
    await Promise.all(streams.map((stream) => stream.next()));
    for (const stream of streams) stream.cancel();
  };
  await round();
  const before = await openDescriptors();
  for (let index = 0; index < 10; index += 1) await round();
  const calls = caClient.calls;
  await until("three more rotations", () => caClient.calls >= calls + 3);
  await until("as many descriptors as before", async () => (await openDescriptors()) <= before + 2);
});

describe("a full disk", () => {
  let mounted: string | undefined;
  beforeEach(needs("tmpfs"));
  afterEach(() => {
    if (mounted !== undefined) execFileSync("umount", [mounted]);
    mounted = undefined;
  });

  test("keeps the files that were there, serves on, and is written when there is room", async () => {
    await mkdir(at("disk"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", at("disk")]);
    mounted = at("disk");
    caClient.ttlMs = 500;
    await start({ caClient, output: { directory: at("disk", "certs"), readableByAll: false } });
    const shown = async () => {
      const version = await realpath(at("disk", "certs", "..data"));
      return readFile(join(version, "cert-chain.pem"), "utf8");
    };
    await until("the first files are there", () =>
      shown().then(
        () => true,
        () => false,
      ),
    );
    await writeFile(at("disk", "filler"), Buffer.alloc(64 * 1024)).catch(() => undefined);
    await until("the failure is logged", () =>
      log.printed.some((line) => line.includes("error when output the resource")),
    );
    const [old, served] = [await shown(), (await manager.get("default")) as KeyPairSecret];
    await rememberKey();
    const calls = caClient.calls;
    await until("it goes on rotating", () => caClient.calls >= calls + 2);
    expect(await shown()).toBe(old);
    expect(served.certificateChain.length).toBeGreaterThan(0);
    await rm(at("disk", "filler"));
    await until("the newest files are there", async () => (await shown()) !== old);
    await manager.stop();
    expect((await readdir(at("disk", "certs"))).filter((entry) => entry.startsWith("..certs-"))).toHaveLength(1);
  });
});
