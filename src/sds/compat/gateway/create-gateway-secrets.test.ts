import { expect, test } from "vitest";
import { createTestCa } from "../../../../test/support/certs/test-ca.ts";
import { recordLog } from "../../../../test/support/log/recording-log.ts";
import { silentLogger } from "../../../base/logger.ts";
import { type KubernetesSecret, parseGatewaySecret } from "./kubernetes-secret.ts";
import { createGatewaySecrets } from "./start-gateway-sds.ts";

const ca = await createTestCa();
const { cert, key } = await ca.pair(["gateway.test"]);
const secret = (name: string, data: Readonly<Record<string, string>>): KubernetesSecret => ({
  name,
  data: new Map(Object.entries(data).map(([entry, value]) => [entry, Buffer.from(value)])),
});

test.each([
  { what: "generic names", data: { cert, key, cacert: ca.rootPem }, roots: true },
  { what: "TLS names", data: { "tls.crt": cert, "tls.key": key, "ca.crt": ca.rootPem }, roots: true },
  { what: "TLS names without a CA", data: { "tls.crt": cert, "tls.key": key }, roots: false },
])("a secret with $what is taken", ({ data, roots }) => {
  const parsed = parseGatewaySecret(secret("web", data));
  expect(parsed).toMatchObject({ kind: "taken", credentials: { keyPair: { certificate: Buffer.from(cert) } } });
  expect(parsed.kind === "taken" && parsed.credentials.roots !== undefined).toBe(roots);
});

test.each([
  { what: "cacert", data: { cacert: ca.rootPem } },
  { what: "ca.crt", data: { "ca.crt": ca.rootPem } },
  { what: "tls.crt", data: { "tls.crt": ca.rootPem } },
])("a secret for roots only may hold them as $what", ({ data }) => {
  expect(parseGatewaySecret(secret("web-cacert", data))).toMatchObject({
    kind: "taken",
    credentials: { keyPair: undefined },
  });
});

test.each([
  { what: "the mesh's own secrets", name: "istio-ca-secret", data: { cert, key } },
  { what: "those of the metrics server", name: "prometheus-tls", data: { cert, key } },
  { what: "service account tokens", name: "web", data: { cert, key, token: "x" } },
])("$what are ignored", ({ name, data }) => {
  expect(parseGatewaySecret(secret(name, data))).toEqual({ kind: "ignored" });
});

test.each([
  { what: "no key", name: "web", data: { cert } },
  { what: "nothing", name: "web", data: {} },
  { what: "no roots", name: "web-cacert", data: { key } },
  { what: "a broken certificate", name: "web", data: { cert: "broken", key } },
])("a secret with $what is skipped with a warning that shows no key", ({ name, data }) => {
  const log = recordLog();
  const secrets = createGatewaySecrets({ log });
  secrets.apply(secret(name, data));
  expect(log.printed).toHaveLength(1);
  expect(log.printed.join()).not.toContain(key.split("\n")[1]);
});

test("a compound secret is two resources that appear, change and vanish together", async () => {
  const secrets = createGatewaySecrets({ log: silentLogger });
  const reported: string[] = [];
  for (const name of ["web", "web-cacert"]) secrets.onChange(name, () => reported.push(name));
  await expect(secrets.get("web")).resolves.toBeUndefined();
  const compound = secret("web", { cert, key, cacert: ca.rootPem });
  secrets.apply(compound);
  secrets.apply(compound);
  expect(reported).toEqual(["web", "web-cacert"]);
  await expect(secrets.get("web-cacert")).resolves.toMatchObject({ kind: "trust-bundle" });
  secrets.apply(secret("web", { cert, key }));
  await expect(secrets.get("web-cacert")).resolves.toBeUndefined();
  secrets.remove("web");
  expect(reported).toEqual(["web", "web-cacert", "web-cacert", "web"]);
});

test("an absent secret is asked for directly, then the fallback stands in", async () => {
  const asked: string[] = [];
  const fetch = async (name: string) => {
    asked.push(name);
    return name === "late" ? secret("late", { cert, key, cacert: ca.rootPem }) : undefined;
  };
  const secrets = createGatewaySecrets({ log: silentLogger, fetch });
  await expect(secrets.get("late-cacert")).resolves.toMatchObject({ name: "late-cacert" });
  await expect(secrets.get("other")).resolves.toBeUndefined();
  secrets.apply(secret("gateway-fallback", { cert, key }));
  await expect(secrets.get("other")).resolves.toMatchObject({ name: "other", kind: "key-pair" });
  expect(asked).toEqual(["late", "other", "other"]);
});

test("a listener that has ended is not notified any more", () => {
  const secrets = createGatewaySecrets({ log: silentLogger });
  let reported = 0;
  const end = secrets.onChange("web", () => {
    reported += 1;
  });
  end();
  end();
  secrets.apply(secret("web", { cert, key }));
  expect(reported).toBe(0);
});
