import { existsSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import type { EnvoyHandle, EnvoyOptions } from "../../src/envoy/envoy-options.ts";
import { startEnvoy } from "../../src/envoy/start-envoy.ts";
import { watchContents } from "../../src/files/watch/watch-contents.ts";
import { createWorkFolder, envoyOptions, freePorts, recordingLogger } from "../support/envoy/life.ts";
import { type StaticBootstrapOptions, staticBootstrap } from "../support/envoy/static-bootstrap.ts";
import { envoyPath, needs } from "../support/needs.ts";
import { fetchOk } from "../support/net/fetch-answer.ts";
import { startLoad } from "../support/net/start-load.ts";
import { lifeOf } from "../support/process/process-life.ts";
import { signalProcess } from "../support/process/signal-process.ts";
import { until } from "../support/wait/until.ts";

async function setUp(overrides: Partial<EnvoyOptions> = {}) {
  const [adminPort = 0, port = 0] = await freePorts(2);
  const work = createWorkFolder();
  const log = recordingLogger();
  let next: object = staticBootstrap({ adminPort, port, body: "epoch 0" });
  const options = envoyOptions({
    binaryPath: envoyPath() ?? "",
    log,
    adminPort,
    stdio: work.stdio,
    hotRestart: { parentShutdownMs: 1_000 },
    args: { drainMs: 0, nodeIps: ["127.0.0.1"], logLevel: "warning", concurrency: 1 },
    prepareConfig: async (epoch) => ({ path: work.write(`envoy-rev${epoch}.json`, next) }),
    ...overrides,
  });
  return {
    adminPort,
    port,
    work,
    log,
    options,
    configure: (bootstrap: Partial<StaticBootstrapOptions>) => {
      next = staticBootstrap({ adminPort, port, ...bootstrap });
    },
    configureRaw: (bootstrap: object) => {
      next = bootstrap;
    },
    [Symbol.dispose]: () => work[Symbol.dispose](),
  };
}

const isLive = async (envoy: EnvoyHandle, epoch: number) =>
  envoy.admin.serverInfo().then(
    (info) => info.state === "LIVE" && info.restartEpoch === epoch,
    () => false,
  );

describe("with the real Envoy", () => {
  beforeEach(needs("envoy"));

  test("a reload loses no request, the new epoch answers, the parent exits and the memory goes with the last one", async () => {
    using t = await setUp();
    await using envoy = await startEnvoy(t.options);
    await until("epoch 0", () => isLive(envoy, 0));
    const isParentAlive = lifeOf(envoy.pid);
    const load = startLoad(() => fetchOk(`http://127.0.0.1:${t.port}/`), { lanes: 4 });
    await until("requests to the parent", () => load.requests > 50);
    t.configure({ body: "epoch 1" });
    envoy.reload("test");
    await until("epoch 1", () => isLive(envoy, 1));
    await until("the parent's exit", () => !isParentAlive());
    const atExit = load.requests;
    await until("requests after the parent's exit", () => load.requests > atExit + 50);
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(load.answers.get("epoch 1")).toBeGreaterThan(50);
    expect(envoy.epoch).toBe(1);
    expect(t.log.texts()).toContain("info Received new config, creating new Envoy epoch 1");
    expect(t.log.texts()).toContain("info Epoch 0 exited normally");
    const isAlive = lifeOf(envoy.pid);
    await envoy.stop();
    expect(isAlive()).toBe(false);
    const complaints = t.log.texts().filter((line) => /^(warn|error)/.test(line));
    // What the reference says of every stop; nothing of the epochs before.
    expect(complaints.filter((line) => !line.includes("limit of open files"))).toEqual([
      "warn Aborting proxy",
      "warn Aborted proxy instance",
    ]);
    const command = t.log.texts().find((line) => line.includes("--base-id"));
    const baseId = Number(/--base-id (\d+)/.exec(command ?? "")?.[1]);
    expect(baseId).toBeGreaterThan(0);
    expect(existsSync(`/dev/shm/envoy_shared_memory_${baseId * 10}`)).toBe(false);
  });

  test("a parent that ends during the drain of its child is not taken for the end of the drain", async () => {
    using t = await setUp();
    const termination = { ...t.options.termination, drainMs: 60_000 };
    await using envoy = await startEnvoy({ ...t.options, termination });
    await until("epoch 0", () => isLive(envoy, 0));
    envoy.reload("test");
    await until("epoch 1", () => isLive(envoy, 1));
    void envoy.terminate();
    await until("the parent's exit", () => t.log.texts().includes("info Epoch 0 exited normally"));
    expect(t.log.texts().join()).not.toContain("ended prematurely");
    await envoy.stop();
  });

  test("a reload before the first epoch is live waits for it", async () => {
    using t = await setUp();
    await using envoy = await startEnvoy(t.options);
    t.configure({ body: "epoch 1" });
    envoy.reload("test");
    expect(t.log.texts()).toContain("info waiting for epoch 0 to go live before performing a hot restart");
    await until("epoch 1", () => isLive(envoy, 1));
    expect(await fetchOk(`http://127.0.0.1:${t.port}/`)).toBe("epoch 1");
  });

  test("a child with a configuration Envoy refuses never touches the parent, and the reason is shown", async () => {
    using t = await setUp();
    await using envoy = await startEnvoy(t.options);
    await until("epoch 0", () => isLive(envoy, 0));
    t.configureRaw({ static_resources: { clusters: [{ name: "c", connect_timeout: "soon" }] } });
    envoy.reload("test");
    await until("the refusal", () => t.log.lines.some((line) => line.message.startsWith("Hot restart failed")));
    expect(t.log.texts().join("\n")).toContain("soon");
    expect(await fetchOk(`http://127.0.0.1:${t.port}/`)).toBe("epoch 0");
    expect((await envoy.admin.ready()).isLive).toBe(true);
    expect(t.work.stderr()).not.toContain("shutting down admin");
  });

  test("a child that fails while it takes over leaves the parent serving, and the next reload works", async () => {
    using t = await setUp();
    await using envoy = await startEnvoy(t.options);
    await until("epoch 0", () => isLive(envoy, 0));
    const parent = envoy.pid;
    const load = startLoad(() => fetchOk(`http://127.0.0.1:${t.port}/`), { lanes: 4 });
    // An address that is not this machine's passes the validation and fails when the child binds it.
    t.configure({ host: "203.0.113.1" });
    envoy.reload("test");
    await until("the failure", () => t.log.lines.some((line) => line.message.startsWith("Hot restart failed")));
    expect(envoy.pid).toBe(parent);
    const then = load.requests;
    await until("requests after the failure", () => load.requests > then + 50);
    t.configure({ body: "repaired" });
    envoy.reload("test");
    await until("epoch 1", () => isLive(envoy, 1));
    await until("answers of the new one", () => (load.answers.get("repaired") ?? 0) > 20);
    await load.stop();
    expect(load.failures).toEqual([]);
  });

  test("a crash of the newest epoch is followed by a cold start at epoch 0", async () => {
    using t = await setUp({ hotRestart: { parentShutdownMs: 60_000 } });
    await using envoy = await startEnvoy(t.options);
    await until("epoch 0", () => isLive(envoy, 0));
    const [oldest, isOldestAlive] = [envoy.pid, lifeOf(envoy.pid)];
    envoy.reload("test");
    await until("epoch 1", () => isLive(envoy, 1));
    signalProcess(envoy.pid, "SIGABRT");
    await until("a new epoch 0", async () => envoy.epoch === 0 && envoy.pid !== oldest && (await isLive(envoy, 0)));
    expect(isOldestAlive()).toBe(false);
    expect(await fetchOk(`http://127.0.0.1:${t.port}/`)).toBe("epoch 0");
    expect(t.log.texts()).toContain("error Epoch 1 exited with error: signal: aborted");
  });

  test("a changed certificate file makes the next epoch", async () => {
    using t = await setUp();
    const file = t.work.write("cert.pem", "one");
    await using envoy = await startEnvoy(t.options);
    await until("epoch 0", () => isLive(envoy, 0));
    let seen = "";
    const onChange = (hash: string) => {
      if (seen !== "") envoy.reload("certificate files changed");
      seen = hash;
    };
    await using _watcher = watchContents({ files: [file], onChange, log: t.log, settleMs: 20 });
    t.work.write("cert.pem", "two");
    await until("epoch 1", () => isLive(envoy, 1));
  });

  test("two agents share the machine", async () => {
    using first = await setUp();
    using second = await setUp();
    await using one = await startEnvoy(first.options);
    await using two = await startEnvoy(second.options);
    await until("both", async () => (await isLive(one, 0)) && (await isLive(two, 0)));
    for (const envoy of [one, two]) envoy.reload("test");
    await until("both reloaded", async () => (await isLive(one, 1)) && (await isLive(two, 1)));
    expect(await fetchOk(`http://127.0.0.1:${first.port}/`)).toBe("epoch 0");
    expect(await fetchOk(`http://127.0.0.1:${second.port}/`)).toBe("epoch 0");
  });
});
