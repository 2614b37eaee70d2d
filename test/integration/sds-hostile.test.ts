import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { startSecretManager } from "../../src/identity/start-secret-manager.ts";
import { createTestCa, createTestCaClient } from "../support/certs/test-ca.ts";
import { connectSds, node, SECRET_TYPE } from "../support/sds/client.ts";
import { firstRequest, laterRequest, secretNames, useSdsServer } from "../support/sds/harness.ts";
import { managerOptions } from "../support/sds/manager.ts";
import { until } from "../support/wait/until.ts";

const sds = useSdsServer();
const ca = await createTestCa();

/** The server still does its work, on the connection that was abused. */
async function expectService(): Promise<void> {
  const stream = sds.client.stream();
  stream.send(firstRequest("default"));
  expect(secretNames(await stream.next())).toEqual(["default"]);
  stream.cancel();
}

describe("too much", () => {
  test("one name half a million times is refused before it becomes gigabytes of answer", async () => {
    sds.source.set("default", "x".repeat(5000));
    const stream = sds.client.stream();
    stream.send({ ...firstRequest(), resource_names: Array.from({ length: 400_000 }, () => "default") });
    await expect(stream.ended).resolves.toEqual({
      code: grpc.status.INVALID_ARGUMENT,
      details: "400000 resource names on one stream, at most 4096 are served",
    });
    expect(sds.source.gets).toBe(0);
    await expectService();
  });

  test.each(["stream", "delta", "fetch"] as const)("a large secret many times is refused (%s)", async (method) => {
    const names = Array.from({ length: 100 }, (_, index) => `root-${index}`);
    for (const name of names) sds.source.set(name, "x".repeat(1_000_000));
    const refused = { code: grpc.status.INVALID_ARGUMENT, details: expect.stringContaining("ask for fewer names") };
    if (method === "fetch") {
      await expect(sds.client.fetch(firstRequest(...names))).rejects.toMatchObject(refused);
    } else {
      const stream = method === "delta" ? sds.client.delta() : sds.client.stream();
      stream.send({ ...firstRequest(...names), resource_names_subscribe: names });
      await expect(stream.ended).resolves.toMatchObject(refused);
    }
    expect(sds.source.gets).toBeLessThan(100);
    await expectService();
  });

  test("names that an incremental stream collects bit by bit are bounded as well", async () => {
    const stream = sds.client.delta();
    for (let round = 0; round < 5; round += 1) {
      const names = Array.from({ length: 1000 }, (_, index) => `${round}-${index}`);
      stream.send({ node: node(), type_url: SECRET_TYPE, resource_names_subscribe: names });
    }
    await expect(stream.ended).resolves.toMatchObject({ code: grpc.status.INVALID_ARGUMENT });
    await until("no one listens any more", () => sds.source.listenerCount === 0);
    await expectService();
  });

  test("a rejection of a megabyte does not fill the log", async () => {
    const stream = sds.client.stream();
    stream.send(firstRequest("default"));
    const { nonce } = await stream.next();
    stream.send({ ...laterRequest(nonce, "default"), error_detail: { code: 13, message: "m".repeat(1_000_000) } });
    await until("it is logged", () => sds.log.printed.some((line) => line.includes("ACK ERROR")));
    expect(sds.log.printed.join("\n").length).toBeLessThan(10_000);
    await expectService();
  });
});

describe("releases 1.7 and 1.8", () => {
  const start = async () => {
    await sds.stop();
    await sds.start({ legacy: { token: { kind: "none" } } });
  };

  test("ten thousand names end their stream and not the connection", async () => {
    await start();
    const other = sds.client.stream();
    other.send(firstRequest("default"));
    await other.next();
    const stream = sds.client.stream();
    stream.send(firstRequest(...Array.from({ length: 10_000 }, (_, index) => `name-${index}`)));
    const { code, details } = await stream.ended;
    expect({ code, details }).toMatchObject({ code: grpc.status.UNKNOWN });
    expect(details).toContain("more than one resourceNames [name-0 name-1");
    sds.source.set("default", "chain 2");
    other.send(laterRequest("", "default"));
    expect(secretNames(await other.next())).toEqual(["default"]);
    other.cancel();
  });

  test("a node's name of a megabyte does not travel in a status", async () => {
    await start();
    const stream = sds.client.stream();
    stream.send({ ...firstRequest("default"), node: { id: "n".repeat(1_000_000) } });
    const { version_info: version, nonce } = await stream.next();
    stream.send({ ...laterRequest(nonce, "default"), version_info: version });
    sds.source.remove("default");
    const { code, details } = await stream.ended;
    expect(code).toBe(grpc.status.UNKNOWN);
    expect(details).toMatch(/^Close connection to proxy n+-1: default is gone$/);
    sds.source.set("default", "again");
    await expectService();
  });
});

describe("a manager of real files", () => {
  test("hundreds of names on one stream do not hold up the others, and leave nothing behind", async () => {
    await writeFile(join(sds.directory, "root.pem"), ca.rootPem);
    await using manager = await startSecretManager(managerOptions({ caClient: createTestCaClient(ca) }));
    await sds.stop();
    await sds.start({ source: manager });
    // Different texts for one file.
    const names = Array.from(
      { length: 500 },
      (_, index) => `file-root:${sds.directory}${"/".repeat(index + 1)}root.pem`,
    );
    const [many, other] = [sds.client.stream(), sds.client.stream()];
    many.send(firstRequest(...names));
    other.send(firstRequest("default"));
    const [all, one] = [many.next(), other.next()];
    expect(await Promise.race([all.then(() => "many"), one.then(() => "other")])).toBe("other");
    expect(secretNames(await one)).toEqual(["default"]);
    expect((await all).resources).toHaveLength(500);
    many.cancel();
    other.cancel();
  });

  test("two hundred clients that come, ask and go leave the next one served", async () => {
    await using manager = await startSecretManager(managerOptions({ caClient: createTestCaClient(ca) }));
    await sds.stop();
    await sds.start({ source: manager });
    for (let round = 0; round < 200; round += 1) {
      const client = connectSds(sds.path);
      const stream = client.stream();
      stream.send(firstRequest(round % 2 === 0 ? "default" : "ROOTCA"));
      if (round % 3 === 0) await stream.next();
      if (round % 5 === 0) stream.cancel();
      await client[Symbol.asyncDispose]();
    }
    await expectService();
  });
});
