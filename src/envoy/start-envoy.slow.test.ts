import { expect, test } from "vitest";
import { createWorkFolder, envoyOptions, recordingLogger } from "../../test/support/envoy/life.ts";
import { createScriptedEnvoy } from "../../test/support/envoy/scripted-envoy.ts";
import { startEnvoy } from "./start-envoy.ts";

test("with the real pauses an Envoy that always crashes ends the agent within 60 s of the first crash", async () => {
  using scripted = createScriptedEnvoy({ runs: [{ exit: 1 }] });
  using work = createWorkFolder();
  const options = envoyOptions({
    binaryPath: scripted.path,
    log: recordingLogger(),
    stdio: work.stdio,
    prepareConfig: async () => ({ path: work.write("c.json", {}) }),
  });
  await using envoy = await startEnvoy(options);
  await expect(envoy.ended).rejects.toMatchObject({ code: "crashed", exitCode: 80 });
  const starts = scripted.calls("start").map((call) => call.at);
  expect(starts).toHaveLength(10);
  const took = Date.now() - (starts[0] ?? 0);
  expect(took).toBeGreaterThan(18_000);
  const pauses = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
  for (const [index, exact] of [200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000].entries()) {
    expect(pauses[index]).toBeGreaterThanOrEqual(exact * 0.79);
  }
});
