import { expect, test } from "vitest";
import { listAgentMetrics } from "./metrics.ts";

test("every metric of the agent has the agent's prefix, a plain name and a text", async () => {
  const metrics = await listAgentMetrics();
  expect(metrics.length).toBeGreaterThan(15);
  for (const { name, help } of metrics) {
    expect(name).toMatch(/^(istio_agent|process|nodejs)(_[a-z0-9]+)+$/);
    expect(help).toMatch(/\S/);
  }
});
