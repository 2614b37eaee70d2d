import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { declareSdsMetrics } from "../../src/sds/metrics.ts";
import { startSdsServer } from "../../src/sds/start-sds-server.ts";
import { recordLog } from "../support/log/recording-log.ts";
import { decodeDelta, node, SECRET_TYPE } from "../support/sds/client.ts";
import { firstRequest, secretNames, useSdsServer } from "../support/sds/harness.ts";
import { until } from "../support/wait/until.ts";

const sds = useSdsServer();

describe("DeltaSecrets", () => {
  test("subscribed names are answered with versions; what a client still has is not sent again", async () => {
    const stream = sds.client.delta();
    stream.send({
      node: node(),
      type_url: SECRET_TYPE,
      resource_names_subscribe: ["default", "ROOTCA"],
      initial_resource_versions: { default: "chain 1" },
    });
    const answer = await stream.next();
    expect(answer.resources?.map(({ name, version }) => [name, version])).toEqual([["ROOTCA", "roots 1"]]);
    sds.source.set("default", "chain 2");
    const push = await stream.next();
    expect(decodeDelta(push)[0]?.tls_certificate?.certificate_chain.inline_bytes.toString()).toBe("chain 2");
  });

  test("an unknown name is answered as removed, the others as usual", async () => {
    sds.source.fail("foo", "unknown-name");
    const stream = sds.client.delta();
    stream.send({ node: node(), type_url: SECRET_TYPE, resource_names_subscribe: ["foo", "default"] });
    expect(await stream.next()).toMatchObject({ removed_resources: ["foo"], resources: [{ name: "default" }] });
  });

  test("a secret that goes away is announced as removed, and sent again when it returns", async () => {
    const stream = sds.client.delta();
    stream.send({ node: node(), type_url: SECRET_TYPE, resource_names_subscribe: ["default"] });
    await stream.next();
    sds.source.remove("default");
    expect(await stream.next()).toMatchObject({ removed_resources: ["default"] });
    sds.source.set("default", "chain 1");
    expect(await stream.next()).toMatchObject({ resources: [{ name: "default", version: "chain 1" }] });
  });

  test("an unsubscribed name is not pushed, a rejection is counted", async () => {
    const stream = sds.client.delta();
    stream.send({ node: node(), type_url: SECRET_TYPE, resource_names_subscribe: ["default", "ROOTCA"] });
    const { nonce } = await stream.next();
    stream.send({
      response_nonce: nonce,
      resource_names_unsubscribe: ["default"],
      error_detail: { code: 3, message: "x" },
    });
    await until("one name is left", () => sds.source.listenerCount === 1);
    sds.source.set("default", "chain 2");
    sds.source.set("ROOTCA", "roots 2");
    expect((await stream.next()).resources?.map(({ name }) => name)).toEqual(["ROOTCA"]);
    expect(sds.registry.render()).toContain('istio_agent_pilot_total_xds_rejects{type="sds"} 1');
  });

  test("a secret that cannot be made ends the stream, a missing node as well", async () => {
    sds.source.fail("default", "the CA is down");
    const [failing, nameless] = [sds.client.delta(), sds.client.delta()];
    failing.send({ node: node(), resource_names_subscribe: ["default"] });
    nameless.send({ resource_names_subscribe: ["ROOTCA"] });
    await expect(failing.ended).resolves.toMatchObject({ code: grpc.status.UNKNOWN });
    await expect(nameless.ended).resolves.toMatchObject({ code: grpc.status.INVALID_ARGUMENT });
  });
});

describe("FetchSecrets", () => {
  test("one question gets one answer", async () => {
    const answer = await sds.client.fetch({ resource_names: ["default", "ROOTCA"] });
    expect(secretNames(answer)).toEqual(["default", "ROOTCA"]);
  });

  test("a failure is the call's status", async () => {
    sds.source.fail("default", "the CA is down");
    await expect(sds.client.fetch({ resource_names: ["default"] })).rejects.toMatchObject({
      code: grpc.status.UNKNOWN,
      details: "failed to generate secret for default: the CA is down",
    });
  });
});

describe("the socket", () => {
  test("it replaces what is at its path, is open to all users, and is gone after the stop", async () => {
    await sds.stop();
    const { path } = sds;
    await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
    await writeFile(path, "in the way");
    await sds.start();
    expect((await stat(path)).mode & 0o777).toBe(0o666);
    expect((await stat(join(sds.directory, "sds"))).mode & 0o777).toBe(0o750);
  });

  test("directories made for the socket let Envoy's group through and no one else; older ones are left alone", async () => {
    const metrics = declareSdsMetrics(new MetricRegistry());
    const path = join(sds.directory, "a", "b", "socket");
    const [group = 0] = process.getgroups?.() ?? [];
    const envoyGroup = process.getuid?.() === 0 ? 1337 : group;
    await using _server = await startSdsServer({ path, source: sds.source, metrics, log: sds.log, envoyGroup });
    for (const made of ["a", "a/b"]) {
      const { gid, uid, mode } = await stat(join(sds.directory, made));
      expect({ gid, uid, mode: mode & 0o777 }).toEqual({ gid: envoyGroup, uid: process.getuid?.(), mode: 0o750 });
    }
    expect((await stat(sds.directory)).gid).toBe(process.getgid?.());
  });

  test("a path that cannot be bound is tried again, then the start fails and says so", async () => {
    const path = join(sds.directory, "taken");
    await mkdir(join(path, "not-empty"), { recursive: true });
    const failing = recordLog();
    const metrics = declareSdsMetrics(new MetricRegistry());
    const { source } = sds;
    const options = { path, source, metrics, log: failing, bindRetryMs: [1, 1, 1, 1, 1] };
    await expect(startSdsServer(options)).rejects.toMatchObject({ code: "bind-failed" });
    expect(failing.printed.filter((line) => line.includes("failed to set up UDS"))).toHaveLength(5);
    expect(failing.printed.at(-1)).toBe("warn SDS grpc server could not be started");
    await expect(startSdsServer({ ...options, signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "stopped",
    });
  });

  test("where only well-formed node ids are accepted, others end their stream", async () => {
    await sds.stop();
    await sds.start({ nodeIds: "four-part" });
    const [good, bad] = [sds.client.stream(), sds.client.stream()];
    good.send(firstRequest("default"));
    bad.send({ ...firstRequest("default"), node: { id: "sidecar" } });
    expect(secretNames(await good.next())).toEqual(["default"]);
    await expect(bad.ended).resolves.toMatchObject({ details: 'missing parts in the service node "sidecar"' });
  });

  test("a slow reader is dropped when a limit is set, and counted", async () => {
    await sds.stop();
    await sds.start({ sendTimeoutMs: 50 });
    const stream = sds.client.stream();
    stream.pause();
    sds.source.set("default", "x".repeat(3_000_000));
    // grpc-js takes a few messages even while it is paused.
    for (let index = 0; index < 20; index += 1) stream.send(firstRequest("default"));
    await until("the timeout is counted", () =>
      sds.registry.render().includes("istio_agent_pilot_xds_write_timeout 1"),
    );
    await until("the stream is gone", () => sds.source.listenerCount === 0);
    stream.cancel();
  });
});
