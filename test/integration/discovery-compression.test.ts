import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { buildFrameHeader } from "../../src/grpc/frame-scanner.ts";
import {
  type DeltaDiscoveryResponse,
  type DiscoveryResponse,
  deltaDiscoveryRequest,
  deltaDiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
} from "../../src/protobuf/wire/discovery.ts";
import { serviceEntry } from "../support/discovery/objects.ts";
import { type DiscoveryServer, startDiscoveryServer } from "../support/discovery/server.ts";
import { connectRaw, grpcHeaders, requestRaw } from "../support/grpc/raw-client.ts";
import { type Library, openDelta, openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const SERVICES = 1000;
const PATH = "/envoy.service.discovery.v3.AggregatedDiscoveryService";

function service(name: string, index: number): string {
  const place = `${index >> 8}.${index & 255}`;
  const spec = { addresses: [`10.96.${place}`], endpoints: [{ address: `10.1.${place}` }] };
  return JSON.stringify(serviceEntry(name, spec, "default"));
}

const opened = new CloseStack();
let server: DiscoveryServer;
beforeAll(async () => {
  const mesh = Array.from({ length: SERVICES }, (_, index) => service(`s${index}`, index)).join("\n---\n");
  server = opened.add(await startDiscoveryServer({ files: { "mesh.yaml": mesh } }));
});
afterAll(() => opened.close());

const metric = async (name: string): Promise<number> => {
  const text = await (await server.get("/metrics")).text();
  return Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${name} `))
      ?.split(" ")[1] ?? 0,
  );
};
const sentAs = (encoding: string) => metric(`pilot_xds_sent_bytes_total{encoding="${encoding}"}`);

/** The first answer of clusters as it was on the wire. */
async function onTheWire(protocol: "sotw" | "delta", accepts?: string) {
  const session = connectRaw(server.ports.grpc);
  const isSotw = protocol === "sotw";
  const codec = isSotw ? discoveryRequest : deltaDiscoveryRequest;
  const response = isSotw ? discoveryResponse : deltaDiscoveryResponse;
  const request = codec.encode({ node: testNode(), typeUrl: URLS.CDS });
  const path = `${PATH}/${isSotw ? "StreamAggregatedResources" : "DeltaAggregatedResources"}`;
  const headers = grpcHeaders(path, accepts === undefined ? {} : { "grpc-accept-encoding": accepts });
  const answer = await requestRaw(session, headers, Buffer.concat([buildFrameHeader(request.length), request]));
  session.destroy();
  const [message = Buffer.alloc(0)] = answer.messages;
  const plain = answer.compressed[0] === true ? gunzipSync(message) : message;
  return { ...answer, length: message.length, read: comparable(response.decode(plain)) };
}

type Response = DiscoveryResponse | DeltaDiscoveryResponse;

/** Two streams differ in their nonces only; a thousand resources are compared by their digest. */
function comparable(response: Response) {
  const bytes =
    "versionInfo" in response
      ? discoveryResponse.encode({ ...response, nonce: "" })
      : deltaDiscoveryResponse.encode({ ...response, nonce: "" });
  const digest = createHash("sha256").update(bytes).digest("hex");
  return { nonceLength: response.nonce.length, count: response.resources.length, digest };
}

describe.each(["sotw", "delta"] as const)("%s", (protocol) => {
  test("a client that takes gzip gets the same answer in a tenth of the bytes", async () => {
    const [packed, plain] = [await onTheWire(protocol, "gzip"), await onTheWire(protocol)];
    expect(packed.headers["grpc-encoding"]).toBe("gzip");
    expect(packed.compressed).toEqual([true]);
    expect(packed.length).toBeLessThan(plain.length / 10);
    expect(packed.read.count).toBeGreaterThan(SERVICES);
    expect(packed.read).toEqual(plain.read);
  });

  test.each([undefined, "identity", "identity,deflate"])("a client that takes %s gets it plain", async (accepts) => {
    const answer = await onTheWire(protocol, accepts);
    expect(answer.headers).not.toHaveProperty("grpc-encoding");
    expect(answer.compressed).toEqual([false]);
  });

  test.each<Library>(["ours", "grpc-js"])("client library %s unpacks it by itself", async (library) => {
    const before = await sentAs("gzip");
    const open = protocol === "sotw" ? openSotw : openDelta;
    await using stream = open({ port: server.ports.grpc, library });
    stream.send({ node: testNode(), typeUrl: URLS.CDS });
    expect(comparable(await stream.next())).toEqual((await onTheWire(protocol)).read);
    expect(await sentAs("gzip")).toBeGreaterThan(before);
  });
});

test("small answers stay plain, also for a client that takes gzip", async () => {
  await using stream = openSotw({ port: server.ports.grpc });
  stream.send({ node: testNode(), typeUrl: URLS.CDS });
  await stream.next();
  const [packed, plain] = [await sentAs("gzip"), await sentAs("identity")];
  stream.send({ typeUrl: URLS.EDS, resourceNames: ["outbound|80||s1.example"] });
  await stream.next();
  expect(await sentAs("gzip")).toBe(packed);
  expect(await sentAs("identity")).toBeGreaterThan(plain);
});

test("a client that takes gzip and never reads holds back its own answers and no one else's", async () => {
  const session = connectRaw(server.ports.grpc);
  opened.defer(() => session.destroy());
  const headers = grpcHeaders(`${PATH}/StreamAggregatedResources`, { "grpc-accept-encoding": "gzip" });
  const deaf = session.request(headers).pause(); // its window of 64 KiB is never opened again
  deaf.on("error", () => undefined);
  const node = testNode({ id: "sidecar~10.10.0.12~deaf.default~default.svc.cluster.local" });
  const request = discoveryRequest.encode({ node, typeUrl: URLS.CDS });
  deaf.write(Buffer.concat([buildFrameHeader(request.length), request]));
  const watch = () => server.discovery.connections.find("deaf.default")?.subscriptions.get("CDS");
  await expect.poll(() => watch()?.nonceSent ?? "").not.toBe("");
  await using reader = openSotw({ port: server.ports.grpc });
  reader.send({ node: testNode(), typeUrl: URLS.CDS });
  await reader.next();
  const before = await metric('pilot_xds_pushes{type="cds"}');
  const rounds = 25;
  for (let round = 0; round < rounds; round += 1) {
    server.write("more.yaml", service(`more-${round}`, 2000 + round));
    const { nonce, versionInfo } = await reader.next();
    reader.send({ typeUrl: URLS.CDS, responseNonce: nonce, versionInfo });
  }
  // What fits into its window of 64 KiB and the buffers behind it, and no message more.
  const toDeaf = (await metric('pilot_xds_pushes{type="cds"}')) - before - rounds;
  expect(toDeaf).toBeLessThan(rounds - 10);
});
