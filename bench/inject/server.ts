import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../../src/base/logger.ts";
import { startInjector } from "../../src/discovery/start-injector.ts";
import { readWebhookSettings } from "../../src/settings/webhooks.ts";

/** `pilot-agent injector` with built-in settings, in a process of its own; says its port. */
const folder = mkdtempSync(join(tmpdir(), "pilot-agent-bench-"));
const injector = await startInjector({
  ports: { https: { host: "127.0.0.1", port: 0 } },
  webhooks: readWebhookSettings({}, silentLogger, undefined, () => false),
  caDirectory: folder,
  ca: { selfSigned: { key: { type: "ecdsa", curve: "P256" } } },
  domainSuffix: "cluster.local",
  systemNamespace: "istio-system",
  revision: "",
  shutdownMs: 0,
  log: silentLogger,
});
process.send?.({ address: injector.addresses.https, folder });
