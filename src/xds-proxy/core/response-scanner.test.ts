import fc from "fast-check";
import { expect, test } from "vitest";
import { deltaDiscoveryResponse, discoveryResponse } from "../../protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../../xds/methods.ts";
import { ResponseScanner } from "./response-scanner.ts";

const CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const resource = (size: number) => ({ typeUrl: CLUSTER, value: Buffer.alloc(size, 7) });

function encode(kind: XdsProtocol, sizes: readonly number[], typeUrl = CLUSTER): Buffer {
  if (kind === "sotw") {
    return discoveryResponse.encode({ versionInfo: "v1", resources: sizes.map(resource), typeUrl, nonce: "n1" });
  }
  const resources = sizes.map((size, index) => ({ version: "1", resource: resource(size), name: `r${index}` }));
  return deltaDiscoveryResponse.encode({ systemVersionInfo: "v1", resources, typeUrl, nonce: "n1" });
}

function scan(kind: XdsProtocol, bytes: Buffer, cuts: readonly number[] = []): ResponseScanner {
  const scanner = new ResponseScanner(kind);
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    scanner.feed(bytes.subarray(from, cut));
    from = Math.max(from, cut);
  }
  scanner.feed(bytes.subarray(from));
  return scanner;
}

test.each(["sotw", "delta"] as const)("%s: type, version, nonce and count are found", (kind) => {
  const scanner = scan(kind, encode(kind, [10, 0, 5000]));
  expect(scanner).toMatchObject({
    typeUrl: CLUSTER,
    versionInfo: "v1",
    nonce: "n1",
    resourceCount: 3,
    malformed: false,
  });
});

test.each(["sotw", "delta"] as const)("%s: the type is known from the first bytes of a large message", (kind) => {
  const bytes = encode(kind, [1_000_000]);
  const scanner = new ResponseScanner(kind);
  scanner.feed(bytes.subarray(0, 100));
  expect(scanner.typeUrl).toBe(CLUSTER);
});

test.each(["sotw", "delta"] as const)("%s: without resources the response's own type counts", (kind) => {
  expect(scan(kind, encode(kind, [], "type.googleapis.com/x"))).toMatchObject({
    typeUrl: "type.googleapis.com/x",
    resourceCount: 0,
    nonce: "n1",
  });
});

test.each(["sotw", "delta"] as const)("%s: the response's own type stands over that of its first resource", (kind) => {
  const bytes = encode(kind, [5000], "istio.io/debug/syncz");
  const scanner = new ResponseScanner(kind);
  scanner.feed(bytes.subarray(0, 100));
  expect(scanner).toMatchObject({ typeUrl: CLUSTER, hasOwnType: false });
  scanner.feed(bytes.subarray(100));
  expect(scanner).toMatchObject({ typeUrl: "istio.io/debug/syncz", hasOwnType: true });
});

test("an Any whose type comes after its value is passed over, the response's own type is found", () => {
  const reversed = Buffer.concat([Buffer.from([0x12, 2, 1, 2]), Buffer.from([0x0a, 1, 0x61])]);
  const bytes = Buffer.concat([
    Buffer.from([0x12, reversed.length]),
    reversed,
    discoveryResponse.encode({ typeUrl: "own" }),
  ]);
  expect(scan("sotw", bytes)).toMatchObject({ typeUrl: "own", resourceCount: 1, malformed: false });
});

test.each(["sotw", "delta"] as const)("%s: any cutting of any response gives the same facts", (kind) => {
  fc.assert(
    fc.property(fc.array(fc.nat(300), { maxLength: 5 }), fc.array(fc.nat(2000)), (sizes, cuts) => {
      const bytes = encode(kind, sizes);
      expect(
        scan(
          kind,
          bytes,
          cuts.filter((cut) => cut < bytes.length),
        ),
      ).toMatchObject({
        typeUrl: CLUSTER,
        versionInfo: "v1",
        nonce: "n1",
        resourceCount: sizes.length,
        malformed: false,
      });
    }),
  );
});

test("random bytes end as facts or as malformed, never as a throw or a growing buffer", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.array(fc.nat(400)), (bytes, cuts) => {
      const scanner = scan(
        "delta",
        Buffer.from(bytes),
        cuts.filter((cut) => cut < bytes.length),
      );
      expect(typeof scanner.malformed).toBe("boolean");
    }),
    { numRuns: 2000 },
  );
});

test.each(["sotw", "delta"] as const)(
  "%s: a whole response ends well, one that is cut inside a field does not",
  (kind) => {
    fc.assert(
      fc.property(fc.array(fc.nat(300), { maxLength: 5 }), fc.nat(5000), (sizes, cut) => {
        const bytes = encode(kind, sizes);
        const whole = scan(kind, bytes);
        whole.end();
        expect(whole.malformed).toBe(false);
        // Nonce or names come last, so that a missing byte is always one of a field.
        const short = scan(kind, bytes.subarray(0, bytes.length - 1));
        short.end();
        expect(short.malformed).toBe(true);
        const anywhere = scan(kind, bytes.subarray(0, cut % (bytes.length + 1)));
        expect(() => anywhere.end()).not.toThrow();
      }),
    );
    const endless = scan(kind, Buffer.from("ffffffff", "hex"));
    expect(endless.malformed).toBe(false);
    endless.end();
    expect(endless.malformed).toBe(true);
  },
);
