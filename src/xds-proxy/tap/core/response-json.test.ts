import { expect, test } from "vitest";
import { discoveryResponse } from "../../../protobuf/wire/discovery.ts";
import {
  bool,
  bytes,
  double,
  int64,
  map,
  message,
  nested,
  repeated,
  string,
  uint32,
} from "../../../protobuf/wire/message.ts";
import { responseJson } from "./response-json.ts";

const CLIENT_CONFIG = "type.googleapis.com/envoy.service.status.v3.ClientConfig";
const value = message({ number: double(2), text: string(3), flag: bool(4), struct: bytes(5), list: bytes(6) });
const struct = message({ fields: map(1, nested(2, value)) });
const list = message({ values: repeated(1, value) });
const timestamp = message({ seconds: int64(1), nanos: uint32(2) });
const generic = message({ name: string(2), lastUpdated: nested(5, timestamp), status: uint32(6), isStatic: bool(9) });
const node = message({ id: string(1), metadata: bytes(3) });
const clientConfig = message({ node: nested(1, node), configs: repeated(3, generic), scope: string(4) });

const json = (resources: { typeUrl: string; value: Buffer }[]) => {
  const encoded = discoveryResponse.encode({ typeUrl: "istio.io/debug/syncz", resources });
  return JSON.parse(responseJson(discoveryResponse.decode(encoded)));
};

test("a client's state is shown with its metadata, times and states by name", () => {
  const metadata = struct.encode({
    fields: new Map([
      ["NAME", { text: "app" }],
      ["N", { number: 1.5 }],
      ["ON", { flag: true }],
      ["LABELS", { struct: struct.encode({ fields: new Map([["a", { text: "b" }]]) }) }],
      ["IPS", { list: list.encode({ values: [{ text: "10.0.0.1" }, { number: 2 }] }) }],
    ]),
  });
  const bytesOf = clientConfig.encode({
    node: { id: "sidecar~1", metadata },
    scope: "s",
    configs: [
      { name: "a", status: 3, lastUpdated: { seconds: 1_700_000_000n, nanos: 5_000_000 } },
      { name: "b", status: 99, isStatic: true, lastUpdated: { seconds: 1_700_000_000n, nanos: 0 } },
      { name: "c", lastUpdated: { seconds: 1n, nanos: 7 } },
    ],
  });
  expect(json([{ typeUrl: CLIENT_CONFIG, value: bytesOf }])).toEqual({
    typeUrl: "istio.io/debug/syncz",
    resources: [
      {
        "@type": CLIENT_CONFIG,
        node: {
          id: "sidecar~1",
          metadata: { NAME: "app", N: 1.5, ON: true, LABELS: { a: "b" }, IPS: ["10.0.0.1", 2] },
        },
        clientScope: "s",
        genericXdsConfigs: [
          { name: "a", configStatus: "STALE", lastUpdated: "2023-11-14T22:13:20.005Z" },
          { name: "b", configStatus: 99, isStaticResource: true, lastUpdated: "2023-11-14T22:13:20Z" },
          { name: "c", lastUpdated: "1970-01-01T00:00:01.000000007Z" },
        ],
      },
    ],
  });
});

test("one unknown payload among known ones: all are shown as bytes", () => {
  expect(
    json([
      { typeUrl: CLIENT_CONFIG, value: Buffer.alloc(0) },
      { typeUrl: "x", value: Buffer.from("hi") },
    ]),
  ).toEqual({
    type_url: "istio.io/debug/syncz",
    resources: [
      { type_url: CLIENT_CONFIG, value: "" },
      { type_url: "x", value: "aGk=" },
    ],
  });
});
