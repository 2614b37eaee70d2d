import { beforeEach, expect, test } from "vitest";
import { startEnvoy } from "../../src/envoy/start-envoy.ts";
import { createWorkFolder, envoyOptions, freePorts, recordingLogger } from "../support/envoy/life.ts";
import { staticBootstrap } from "../support/envoy/static-bootstrap.ts";
import { envoyPath, needs } from "../support/needs.ts";
import { fetchOk } from "../support/net/fetch-answer.ts";
import { startLoad } from "../support/net/start-load.ts";
import { lifeOf } from "../support/process/process-life.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("envoy"));

test("at least 2,000 requests, each on a new connection, across three hot restarts: none fails", async () => {
  const [adminPort = 0, port = 0] = await freePorts(2);
  using work = createWorkFolder();
  let epochs = 0;
  await using envoy = await startEnvoy(
    envoyOptions({
      binaryPath: envoyPath() ?? "",
      log: recordingLogger(),
      adminPort,
      stdio: work.stdio,
      // Longer than a busy machine lets a request wait that the parent has.
      hotRestart: { parentShutdownMs: 5_000 },
      prepareConfig: async (epoch) => {
        epochs = epoch;
        return { path: work.write(`rev${epoch}.json`, staticBootstrap({ adminPort, port, body: `epoch ${epoch}` })) };
      },
    }),
  );
  await until("epoch 0", async () =>
    envoy.admin.ready().then(
      (ready) => ready.isLive,
      () => false,
    ),
  );
  const load = startLoad(() => fetchOk(`http://127.0.0.1:${port}/`), { lanes: 4 });
  for (const epoch of [1, 2, 3]) {
    const [before, isParentAlive] = [load.requests, lifeOf(envoy.pid)];
    await until("requests between the restarts", () => load.requests > before + 300);
    envoy.reload(`restart ${epoch}`);
    await until(`epoch ${epoch}`, () => (load.answers.get(`epoch ${epoch}`) ?? 0) > 300);
    await until("the parent's exit", () => !isParentAlive());
  }
  await until("2,000 requests", () => load.requests > 2_000, 60_000);
  await load.stop();
  expect(epochs).toBe(3);
  expect(load.requests).toBeGreaterThanOrEqual(2_000);
  expect(load.failures).toEqual([]);
  expect([...load.answers.keys()]).toEqual(["epoch 0", "epoch 1", "epoch 2", "epoch 3"]);
});
