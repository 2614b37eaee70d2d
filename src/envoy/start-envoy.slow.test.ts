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
  // Ten, or fewer where the machine stood still and a quiet period did not fit into the minute any more.
  const isOutOfTime = Date.now() - (starts[0] ?? 0) > 60_000 - 20_000 - 6_000;
  if (isOutOfTime) expect(starts.length).toBeLessThanOrEqual(10);
  else expect(starts).toHaveLength(10);
  const pauses = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
  const expected = [200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000];
  // Lower bounds: a machine that stands still only adds to a pause.
  for (const [index, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual((expected[index] ?? 0) * 0.79);
});
