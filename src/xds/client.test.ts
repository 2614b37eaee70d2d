import { expect, test } from "vitest";
import type { GrpcChannel } from "../grpc/index.ts";
import type { DiscoveryRequest, DiscoveryResponse } from "../protobuf/wire/discovery.ts";
import { openXdsClient } from "./client.ts";
import { CLUSTER_TYPE, ENDPOINT_TYPE } from "./type-urls.ts";

async function open() {
  const requests: Partial<DiscoveryRequest>[] = [];
  const bidi = async () => ({
    responses: [],
    write: async (request: Partial<DiscoveryRequest>) => void requests.push(request),
  });
  const channel = { bidi } as unknown as Pick<GrpcChannel, "bidi">;
  const node = { id: "n", metadata: {} };
  const client = await openXdsClient(channel, node, new AbortController().signal);
  const sent = () =>
    requests
      .splice(0)
      .map(({ typeUrl, resourceNames, versionInfo, responseNonce, errorDetail }) =>
        [typeUrl?.split(".").at(-1), resourceNames?.join(), versionInfo, responseNonce, errorDetail?.message].join(" "),
      );
  return { client, sent };
}

const response = (typeUrl: string, versionInfo: string, nonce: string): DiscoveryResponse => ({
  typeUrl,
  versionInfo,
  nonce,
  resources: [],
});

test("a subscription is sent once, and again when its names change", async () => {
  const { client, sent } = await open();
  await client.subscribe(CLUSTER_TYPE, []);
  await client.subscribe(CLUSTER_TYPE, []);
  await client.subscribe(ENDPOINT_TYPE, ["a"]);
  await client.subscribe(ENDPOINT_TYPE, ["a", "b"]);
  expect(sent()).toEqual(["Cluster    ", "ClusterLoadAssignment a   ", "ClusterLoadAssignment a,b   "]);
});

test("an ACK carries version and nonce of the response, a NACK the version that was accepted before", async () => {
  const { client, sent } = await open();
  await client.subscribe(ENDPOINT_TYPE, ["a"]);
  await client.ack(response(ENDPOINT_TYPE, "v1", "n1"));
  await client.nack(response(ENDPOINT_TYPE, "v2", "n2"), "bad");
  await client.subscribe(ENDPOINT_TYPE, ["b"]);
  expect(sent().slice(1)).toEqual([
    "ClusterLoadAssignment a v1 n1 ",
    "ClusterLoadAssignment a v1 n2 bad",
    "ClusterLoadAssignment b v1 n2 ",
  ]);
});
