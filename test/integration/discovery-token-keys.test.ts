import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { ruleObject } from "../support/discovery/rules.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const keyOf = (name: string) => Buffer.from(name).toString("base64url");
const keySet = (name: string) => JSON.stringify({ keys: [{ kty: "oct", k: keyOf(name) }] });

/** An issuer on the loopback whose keys the test changes. */
async function startIssuer(first: string) {
  let body = first;
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  opened.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const jwksUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
  return {
    object: ruleObject("security.istio.io/v1", "RequestAuthentication", "tokens", {
      jwtRules: [{ issuer: "i", jwksUri }],
    }),
    set: (next: string) => {
      body = next;
    },
    get asked() {
      return asked;
    },
  };
}

test("the first listeners after a start have the keys, and others are pushed when the keys change", async () => {
  const issuer = await startIssuer(keySet("first"));
  const tokenKeys = { refreshMs: 20 };
  const server = opened.add(await startDiscoveryServer({ files: { "tokens.yaml": issuer.object }, tokenKeys }));
  const stream = opened.add(openSotw({ port: server.ports.grpc }));
  stream.send({ node: testNode({ metadata: { NAMESPACE: "default" } }), typeUrl: URLS.LDS });
  const textOf = ({ resources }: Awaited<ReturnType<typeof stream.next>>) =>
    resources.map(({ value = Buffer.alloc(0) }) => Buffer.from(value).toString("latin1")).join();
  const before = await stream.next();
  expect(textOf(before)).toContain(keyOf("first"));
  stream.send({ typeUrl: URLS.LDS, versionInfo: before.versionInfo, responseNonce: before.nonce });

  const [pushes, asked] = [server.discovery.pushes, issuer.asked];
  await expect.poll(() => issuer.asked).toBeGreaterThan(asked + 2);
  expect(server.discovery.pushes).toBe(pushes);

  issuer.set(keySet("second"));
  const after = await stream.next();
  expect(after.typeUrl).toBe(URLS.LDS);
  expect(textOf(after)).toContain(keyOf("second"));
  expect(textOf(after)).not.toContain(keyOf("first"));
  stream.send({ typeUrl: URLS.LDS, versionInfo: after.versionInfo, responseNonce: after.nonce });

  issuer.set("out of order");
  await expect.poll(() => server.log.text()).toMatch(/the last ones stay.*default\/tokens.*not JSON/);
  expect(server.log.text()).not.toContain("out of order");
  expect([...server.discovery.snapshot.tokenKeys.values()]).toEqual([keySet("second")]);
});

test("keys that no one asks for any more are not retained", async () => {
  const issuer = await startIssuer(keySet("first"));
  const server = opened.add(await startDiscoveryServer({ files: { "tokens.yaml": issuer.object } }));
  expect(server.discovery.snapshot.tokenKeys.size).toBe(1);
  server.write("tokens.yaml", undefined);
  await expect.poll(() => server.discovery.snapshot.tokenKeys.size).toBe(0);
});
