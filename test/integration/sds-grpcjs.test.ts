import * as grpc from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { decodeSecrets, node, type SdsAnswer, SECRET_TYPE, type TestStream } from "../support/sds/client.ts";
import { firstRequest, laterRequest, secretNames, useSdsServer } from "../support/sds/harness.ts";
import { until } from "../support/wait/until.ts";

const sds = useSdsServer();

/** Everything sent so far has been handled once a name asked for without a nonce has been answered. */
async function fence(stream: TestStream<SdsAnswer>): Promise<readonly SdsAnswer[]> {
  sds.source.set("ROOT-fence", "fence");
  stream.send({ type_url: SECRET_TYPE, resource_names: ["ROOT-fence"] });
  const before: SdsAnswer[] = [];
  for (;;) {
    const answer = await stream.next();
    if (secretNames(answer).includes("ROOT-fence")) return before;
    before.push(answer);
  }
}

test("a name is answered with its secret, a version and a nonce", async () => {
  const stream = sds.client.stream();
  stream.send(firstRequest("default"));
  const answer = await stream.next();
  expect(answer.type_url).toBe(SECRET_TYPE);
  expect(answer.nonce).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(answer.version_info).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)\/1$/);
  expect(decodeSecrets(answer)[0]?.tls_certificate?.certificate_chain.inline_bytes.toString()).toBe("chain 1");
  expect(sds.log.printed).toContain("info ADS: new connection for node:1");
  stream.end();
  await expect(stream.ended).resolves.toMatchObject({ code: grpc.status.OK });
  expect(sds.log.printed).toContain('info ADS: "" 1 terminated');
});

test("several names come in the order of the request, a repeated one twice", async () => {
  const stream = sds.client.stream();
  stream.send(firstRequest("ROOTCA", "default", "ROOTCA"));
  expect(secretNames(await stream.next())).toEqual(["ROOTCA", "default", "ROOTCA"]);
});

test("an added name is answered alone, an acknowledgement not at all", async () => {
  const stream = sds.client.stream();
  stream.send(firstRequest("default"));
  const { nonce } = await stream.next();
  stream.send(laterRequest(nonce, "default"));
  stream.send(laterRequest(nonce, "default", "ROOTCA"));
  expect(secretNames(await stream.next())).toEqual(["ROOTCA"]);
});

test("a change is pushed to the streams that watch the name, once per content", async () => {
  const [both, rootOnly] = [sds.client.stream(), sds.client.stream()];
  both.send(firstRequest("default", "ROOTCA"));
  rootOnly.send(firstRequest("ROOTCA"));
  await both.next();
  await rootOnly.next();
  sds.source.touch("default");
  sds.source.set("default", "chain 2");
  const push = await both.next();
  expect(decodeSecrets(push)[0]?.tls_certificate?.certificate_chain.inline_bytes.toString()).toBe("chain 2");
  sds.source.set("ROOTCA", "roots 2");
  expect(secretNames(await rootOnly.next())).toEqual(["ROOTCA"]);
  expect(rootOnly.waiting).toEqual([]);
});

test("a push does not wait for the acknowledgement of the one before", async () => {
  const stream = sds.client.stream();
  stream.send(firstRequest("default"));
  await stream.next();
  for (const content of ["chain 2", "chain 3"]) {
    sds.source.set("default", content);
    expect(decodeSecrets(await stream.next())[0]?.tls_certificate?.certificate_chain.inline_bytes.toString()).toBe(
      content,
    );
  }
});

test("a stream without a node is refused", async () => {
  for (const request of [{ resource_names: ["default"] }, { node: { id: "" }, resource_names: ["default"] }]) {
    const stream = sds.client.stream();
    stream.send(request);
    await expect(stream.ended).resolves.toEqual(
      expect.objectContaining({ code: grpc.status.INVALID_ARGUMENT, details: "missing node information" }),
    );
  }
});

test("health information before the first request is ignored", async () => {
  const stream = sds.client.stream();
  stream.send({ type_url: "type.googleapis.com/istio.v1.HealthInformation" });
  stream.send(firstRequest("default"));
  expect(secretNames(await stream.next())).toEqual(["default"]);
});

test("a rejection as the very first message is silence, and the stream works on", async () => {
  const stream = sds.client.stream();
  stream.send({ ...firstRequest("default"), error_detail: { code: 13, message: "no" } });
  expect(await fence(stream)).toEqual([]);
  expect(sds.log.printed).toContain("warn ADS:SDS: ACK ERROR 1 Internal:no");
  expect(sds.registry.render()).toContain('istio_agent_pilot_total_xds_rejects{type="sds"} 1');
});

test("a rejection changes nothing: the next push comes", async () => {
  const stream = sds.client.stream();
  stream.send(firstRequest("default"));
  const { nonce } = await stream.next();
  stream.send({ ...laterRequest(nonce, "default"), error_detail: { code: 3, message: "bad key" } });
  sds.source.set("default", "chain 2");
  expect(secretNames(await stream.next())).toEqual(["default"]);
});

test("a stale nonce is counted and changes nothing", async () => {
  const stream = sds.client.stream();
  stream.send(firstRequest("default"));
  await stream.next();
  stream.send(laterRequest("stale", "ROOTCA"));
  sds.source.set("ROOTCA", "roots 2");
  expect(await fence(stream)).toEqual([]);
  expect(sds.registry.render()).toContain('istio_agent_pilot_xds_expired_nonce{type="sds"} 1');
});

test("no names unsubscribe; names after that are answered in full regardless of the nonce", async () => {
  const stream = sds.client.stream();
  stream.send(firstRequest("default"));
  const { nonce } = await stream.next();
  stream.send(laterRequest(nonce));
  await until("nothing is watched", () => sds.source.listenerCount === 0);
  sds.source.set("default", "chain 2");
  stream.send(laterRequest("any", "default", "ROOTCA"));
  expect(secretNames(await stream.next())).toEqual(["default", "ROOTCA"]);
});

test("no names of another type get an empty answer", async () => {
  const stream = sds.client.stream();
  stream.send({ node: node(), type_url: "" });
  expect((await stream.next()).resources ?? []).toEqual([]);
});

test("a reconnect with nonce and version of the former stream is answered", async () => {
  const stream = sds.client.stream();
  stream.send({ ...firstRequest("default"), response_nonce: "former", version_info: "former" });
  expect(secretNames(await stream.next())).toEqual(["default"]);
});

test("a secret that cannot be made ends the stream with its cause, and a new stream gets it when it can", async () => {
  sds.source.fail("default", "the CA is down");
  const stream = sds.client.stream();
  stream.send(firstRequest("ROOTCA", "default"));
  await expect(stream.ended).resolves.toMatchObject({
    code: grpc.status.UNKNOWN,
    details: "failed to generate secret for default: the CA is down",
  });
  sds.source.set("default", "chain 2");
  const next = sds.client.stream();
  next.send(firstRequest("default"));
  expect(secretNames(await next.next())).toEqual(["default"]);
});

test("a secret that fails at a push ends the streams that watch it and no other", async () => {
  const [watching, other] = [sds.client.stream(), sds.client.stream()];
  watching.send(firstRequest("default"));
  other.send(firstRequest("ROOTCA"));
  await watching.next();
  await other.next();
  sds.source.fail("default", "gone");
  await expect(watching.ended).resolves.toMatchObject({ code: grpc.status.UNKNOWN });
  sds.source.set("ROOTCA", "roots 2");
  expect(secretNames(await other.next())).toEqual(["ROOTCA"]);
});

test("a secret that takes long holds up its own stream only", async () => {
  sds.source.hold("slow");
  const [waiting, other] = [sds.client.stream(), sds.client.stream()];
  waiting.send(firstRequest("slow"));
  other.send(firstRequest("default"));
  expect(secretNames(await other.next())).toEqual(["default"]);
  sds.source.set("slow", "at last");
  expect(secretNames(await waiting.next())).toEqual(["slow"]);
});

test("a client that goes away while its secret is being made leaves nothing behind", async () => {
  sds.source.hold("slow");
  const stream = sds.client.stream();
  stream.send(firstRequest("slow"));
  await until("the secret is asked for", () => sds.source.gets === 1);
  stream.cancel();
  await until("no one listens any more", () => sds.source.listenerCount === 0);
});

test("a client that goes away in the middle of an answer leaves nothing behind", async () => {
  sds.source.set("default", "x".repeat(3_000_000));
  const stream = sds.client.stream();
  stream.send(firstRequest("default"));
  await until("the secret is asked for", () => sds.source.gets === 1);
  stream.cancel();
  await until("no one listens any more", () => sds.source.listenerCount === 0);
  const next = sds.client.stream();
  next.send(firstRequest("ROOTCA"));
  expect(secretNames(await next.next())).toEqual(["ROOTCA"]);
});

test("ten thousand requests on one stream are all answered, and others are served meanwhile", async () => {
  const [flood, other] = [sds.client.stream(), sds.client.stream()];
  for (let index = 0; index < 10_000; index += 1) flood.send(firstRequest("default"));
  other.send(firstRequest("ROOTCA"));
  expect(secretNames(await other.next())).toEqual(["ROOTCA"]);
  for (let index = 0; index < 10_000; index += 1) await flood.next();
  expect(process.memoryUsage().heapUsed).toBeLessThan(500_000_000);
});

test("a client that does not read costs one answer, not one for each change", async () => {
  const stream = sds.client.stream();
  stream.send(firstRequest("default"));
  await stream.next();
  stream.pause();
  sds.source.set("default", "x".repeat(3_000_000));
  await until("the large answer is being sent", () => sds.source.gets === 2);
  for (let index = 0; index < 200; index += 1) sds.source.set("default", `${index}`.repeat(10));
  stream.resume();
  await until("the last content arrived", async () => {
    const answer = await stream.next();
    return decodeSecrets(answer)[0]?.tls_certificate?.certificate_chain.inline_bytes.toString() === "199".repeat(10);
  });
  expect(sds.source.gets).toBeLessThan(10);
});

test("other services and types of bytes are refused as gRPC servers do", async () => {
  const stream = sds.client.stream(new grpc.Metadata(), "envoy.service.discovery.v2.SecretDiscoveryService");
  stream.send(firstRequest("default"));
  await expect(stream.ended).resolves.toMatchObject({
    code: grpc.status.UNIMPLEMENTED,
    details: "unknown service envoy.service.discovery.v2.SecretDiscoveryService",
  });
});
