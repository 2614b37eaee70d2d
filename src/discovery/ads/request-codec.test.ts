import fc from "fast-check";
import { expect, test } from "vitest";
import { deltaDiscoveryRequest, discoveryRequest } from "../../protobuf/wire/discovery.ts";
import { WireError } from "../../protobuf/wire/wire-reader.ts";
import { createDeltaRequestCodec, createSotwRequestCodec, encodedNames } from "./request-codec.ts";

const manyNames = (count: number, prefix = "outbound|80||svc-") =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}.default.svc.cluster.local`);
const request = (names: readonly string[], more: object = {}) =>
  discoveryRequest.encode({
    typeUrl: "type",
    responseNonce: "nonce",
    versionInfo: "v",
    resourceNames: [...names],
    ...more,
  });

test("any request is read as the plain codec reads it, the first time and again", () => {
  const codec = createSotwRequestCodec();
  const field = fc.oneof(
    fc.constantFrom(manyNames(0), manyNames(1), manyNames(50), manyNames(51), manyNames(50, "other-"), [
      "x".repeat(2000),
    ]),
    fc.array(fc.string({ maxLength: 200 }), { maxLength: 30 }),
  );
  fc.assert(
    fc.property(field, fc.string(), (names, nonce) => {
      const bytes = request(names, { responseNonce: nonce, node: { id: nonce } });
      expect(codec.decode(bytes)).toEqual(discoveryRequest.decode(bytes));
      expect(codec.decode(bytes)).toEqual(discoveryRequest.decode(bytes));
    }),
  );
});

test("a long list is one frozen value for everybody who sends it", () => {
  const codec = createSotwRequestCodec();
  const first = codec.decode(request(manyNames(100), { responseNonce: "1" }));
  const second = codec.decode(request(manyNames(100), { responseNonce: "2", node: { id: "another" } }));
  expect(second.resourceNames).toBe(first.resourceNames);
  expect(Object.isFrozen(first.resourceNames)).toBe(true);
  expect(second.responseNonce).toBe("2");
});

test("a list that only begins like a known one is another list", () => {
  const codec = createSotwRequestCodec();
  expect(codec.decode(request(manyNames(100))).resourceNames).toHaveLength(100);
  expect(codec.decode(request(manyNames(101))).resourceNames).toEqual(manyNames(101));
  expect(codec.decode(request(manyNames(100))).resourceNames).toEqual(manyNames(100));
});

test("a known list, or one that goes on behind it, is counted as an unknown one", () => {
  const codec = createSotwRequestCodec();
  const counted = (names: readonly string[]) => {
    const decoded = codec.decode(request(names));
    const { count, bytes } = encodedNames(decoded) ?? {};
    return { count, bytes, read: decoded.resourceNames.length };
  };
  const figures = (names: readonly string[]) => ({
    count: names.length,
    bytes: names.join("").length,
    read: names.length,
  });
  for (const count of [100, 100, 103, 100, 103]) expect(counted(manyNames(count))).toEqual(figures(manyNames(count)));
});

test("names in two places of the message are all read", () => {
  const codec = createSotwRequestCodec();
  const bytes = Buffer.concat([
    request(manyNames(60)),
    discoveryRequest.encode({ resourceNames: manyNames(3, "later-") }),
  ]);
  expect(codec.decode(bytes)).toEqual(discoveryRequest.decode(bytes));
});

test("lists beyond the number that is remembered are still read right", () => {
  const codec = createSotwRequestCodec();
  const all = Array.from({ length: 100 }, (_, index) => manyNames(40, `list-${index}-`));
  for (const names of [...all, ...all]) expect(codec.decode(request(names)).resourceNames).toEqual(names);
});

test("lists that are too long together are forgotten, the oldest first", () => {
  const codec = createSotwRequestCodec();
  const longName = "x".repeat(1024);
  const [first, second, third] = ["a", "b", "c"].map((prefix) => request(manyNames(6500, prefix + longName)));
  const read = (bytes: Buffer | undefined) => bytes && codec.decode(bytes).resourceNames;
  const before = [first, second].map(read);
  expect([first, second].map(read)).toEqual(before);
  expect(read(second)).toBe(before[1]);
  read(third);
  expect(read(second)).toBe(before[1]);
  expect(read(first)).not.toBe(before[0]);
});

test("random bytes are refused or read as by the plain codec", () => {
  const codec = createSotwRequestCodec();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3000 }), fc.boolean(), (noise, isCut) => {
      const whole = request(manyNames(60));
      const bytes = isCut ? whole.subarray(0, noise.length) : Buffer.concat([whole, Buffer.from(noise)]);
      const outcome = (decode: (given: Buffer) => unknown) => {
        try {
          return decode(bytes);
        } catch (thrown) {
          // Of a message with several faults each of the two may meet another one first.
          expect(thrown).toBeInstanceOf(WireError);
          return "refused";
        }
      };
      expect(outcome((given) => codec.decode(given))).toEqual(outcome((given) => discoveryRequest.decode(given)));
    }),
  );
});

test("the names of a long list are counted without being decoded, for either protocol", () => {
  const names = manyNames(100);
  const sotw = createSotwRequestCodec().decode(request(names));
  const bytes = deltaDiscoveryRequest.encode({ typeUrl: "type", resourceNamesSubscribe: names });
  const delta = createDeltaRequestCodec().decode(bytes);
  for (const decoded of [sotw, delta]) {
    expect(encodedNames(decoded)).toMatchObject({ count: 100, bytes: names.join("").length });
    expect([...(encodedNames(decoded) ?? [])]).toEqual(names);
  }
  expect(delta).toEqual(deltaDiscoveryRequest.decode(bytes));
});

test("a message of too many fields beside its names is refused before anything of it is decoded", () => {
  const versions = Buffer.alloc(2 * 100_001);
  for (let at = 0; at < versions.length; at += 2) versions[at] = (5 << 3) | 2;
  expect(() => createDeltaRequestCodec().decode(versions)).toThrow(/100001 fields beside its names/);
});
