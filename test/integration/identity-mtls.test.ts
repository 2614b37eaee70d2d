import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { KeyPairSecret } from "../../src/identity/secrets.ts";
import { openssl } from "../support/certs/openssl.ts";
import { recordLog } from "../support/log/recording-log.ts";
import { needs } from "../support/needs.ts";
import { type SdsMesh, startMeshLoad, startSdsMesh } from "../support/sds/mesh.ts";
import { until } from "../support/wait/until.ts";

let mesh: SdsMesh | undefined;
beforeEach(needs("envoy", "openssl"));
afterEach(async () => {
  await mesh?.[Symbol.asyncDispose]();
  mesh = undefined;
});

const get = (port: number) =>
  fetch(`http://127.0.0.1:${port}/`).then(
    (answer) => answer.status,
    () => 0,
  );

test("two Envoys do mutual TLS with certificates of our CA, which openssl confirms, through rotations", async () => {
  const log = recordLog();
  mesh = await startSdsMesh(10, log);
  const { client, server } = mesh;
  await until("the first request succeeds", async () => (await get(client.port)) === 200);
  const pair = (await server.workload.manager.get("default")) as KeyPairSecret;
  const root = await readFile(mesh.rootFile, "utf8");
  expect(openssl(["verify", "-CAfile", "@root", "@leaf"], { root, leaf: pair.certificateChain })).toContain("OK");
  const text = openssl(["x509", "-noout", "-text", "-in", "@leaf"], { leaf: pair.certificateChain });
  expect(text).toContain(`URI:${server.workload.identity}`);
  expect(text).toContain("TLS Web Server Authentication, TLS Web Client Authentication");

  const load = startMeshLoad(mesh);
  const versions = new Set<string>();
  const { manager } = server.workload;
  await until("two rotations under load", async () => versions.add((await manager.get("default")).version).size >= 3);
  await load.stop();
  expect(load.failures).toEqual([]);
  expect(await client.envoy.stat("cluster.upstream.ssl.handshake")).toBeGreaterThan(10);
  const lines = log.printed.join("\n");
  expect(lines).not.toContain(pair.privateKey.reveal().toString().split("\n")[1]);
});
