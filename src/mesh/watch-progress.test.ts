import { expect, test } from "vitest";
import { until } from "../../test/support/wait/until.ts";
import { parseMeshFile } from "./core/parse-mesh-file.ts";
import { planMesh } from "./core/plan-mesh.ts";
import type { PartStatus } from "./core/restart-policy.ts";
import type { WorkloadProgress } from "./start-options.ts";
import { watchProgress } from "./watch-progress.ts";

test("an application that ends while others are waited for is not ready any more; the control plane is asked only before the start", async () => {
  const parsed = parseMeshFile("services: {crash: {command: x}, slow: {command: y}}");
  if ("problems" in parsed) throw new Error("invalid");
  const ports = Array.from({ length: 40 }, (_, index) => 20_000 + index);
  const plan = planMesh(parsed.file, { isolation: "none", slot: 59, ports });
  const running: PartStatus = { phase: "running", pid: 1, since: 0, restarts: 0 };
  let app: PartStatus = running;
  let asked = 0;
  let shown: readonly WorkloadProgress[] = [];
  const watch = watchProgress({
    running: { plan },
    parts: {
      controlPlaneObstacle: async () => {
        asked += 1;
        return undefined;
      },
      workloadObstacle: async ({ name }) =>
        name === "crash" && app === running ? undefined : `${name}/app: ${name === "crash" ? "exit code 3" : "late"}`,
      status: (part) => (part === "crash/app" ? app : running),
    },
    onProgress: (progress) => {
      shown = progress;
    },
  });
  const waits = () => shown.map(({ name, waitsFor }) => `${name} ${waitsFor}`).join(", ");
  await until(() => (waits() === "crash undefined, slow app: late" ? undefined : waits()));
  app = { phase: "crash-loop", reason: "exit code 3", restarts: 4 };
  await until(() => (waits() === "crash app: exit code 3, slow app: late" ? undefined : waits()));
  await watch.stop();
  expect(asked).toBe(0);
});
