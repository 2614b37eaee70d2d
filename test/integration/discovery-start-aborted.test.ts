import { once } from "node:events";
import { expect, test } from "vitest";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { startHttpServer } from "../support/net/http-server.ts";

test("a control plane that is asked to end while it starts does not wait for keys that do not come", async () => {
  const abort = new AbortController();
  const asked = new AbortController();
  // Never answers: the start would wait its whole time for it.
  await using issuer = await startHttpServer(() => asked.abort());
  const rule = `apiVersion: security.istio.io/v1
kind: RequestAuthentication
metadata: {name: a, namespace: default}
spec: {jwtRules: [{issuer: x, jwksUri: "${issuer.url}/keys"}]}
`;
  const starting = startDiscoveryServer({ files: { "a.yaml": rule }, signal: abort.signal });
  const refused = expect(starting).rejects.toBe("SIGTERM");
  if (!asked.signal.aborted) await once(asked.signal, "abort");
  abort.abort("SIGTERM");
  await refused;
});
