import { expect, test } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import { MetricRegistry } from "../../base/metric-registry.ts";
import type { CaClientOptions } from "./ca-client-options.ts";
import { CA_PROVIDERS, startCaClient } from "./providers.ts";
import type { CaClient } from "./types.ts";

const options: CaClientOptions = {
  endpoint: "ca:15010",
  rootFile: "",
  clusterId: "",
  certSigner: "",
  retries: new MetricRegistry().counter({ name: "r", help: "" }),
  log: silentLogger,
};

test.each(["VaultCA", "", "citadel"])("provider %j is not registered", async (name) => {
  await expect(startCaClient(name, options)).rejects.toMatchObject({
    code: "bad-config",
    message: `CA provider "${name}" not registered`,
  });
});

test.each(["Citadel", "GoogleCA", "GoogleCAS"])("%s is, and connects only when it is used", async (name) => {
  const client = await startCaClient(name, options);
  await client.close();
});

test("a program adds a provider of its own", async () => {
  const own: CaClient = { sign: () => Promise.reject(new Error("unused")), close: async () => undefined };
  const providers = new Map([...CA_PROVIDERS, ["Own", async () => own] as const]);
  expect(await startCaClient("Own", options, providers)).toBe(own);
});
