import { describe, expect, test } from "vitest";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import type { Authenticator } from "../../ca/authenticators/authenticator.ts";
import { Metadata } from "../../grpc/metadata.ts";
import type { ServerCall } from "../../grpc/server/server-types.ts";
import { type AdmissionOptions, createAdmission } from "./admission.ts";

const TLS = { authorized: true } as unknown as NonNullable<ServerCall["peer"]["tls"]>;

function callFrom(address: string, isTls = false, signal = new AbortController().signal): ServerCall {
  return {
    path: "/ads",
    peer: { address, tls: isTls ? TLS : undefined },
    authority: "istiod",
    metadata: new Metadata(),
    trailers: new Metadata(),
    deadline: undefined,
    signal,
    sendHeaders: () => undefined,
  } as ServerCall;
}

const knows = (...identities: readonly string[]): Authenticator => ({
  name: "test",
  authenticate: async () => ({ identities, source: "test" }),
});

function setUp(given: Partial<AdmissionOptions> = {}) {
  let clock = 0;
  const admit = createAdmission({
    isReady: () => true,
    rate: { perSecond: 10, burst: 2, maxWaitMs: 0 },
    authenticators: [knows("spiffe://cluster.local/ns/default/sa/web")],
    requiresIdentity: true,
    requiresPlaintextIdentity: false,
    allowsRemotePlaintext: false,
    log: recordLog(),
    now: () => clock,
    ...given,
  });
  return {
    admit,
    pass: (ms: number) => {
      clock += ms;
    },
  };
}

test("before the server knows its mesh no one is let in", async () => {
  const { admit } = setUp({ isReady: () => false });
  await expect(admit(callFrom("127.0.0.1:1"))).rejects.toMatchObject({ code: "UNAVAILABLE" });
});

describe("without TLS", () => {
  test.each([
    { from: "127.0.0.1:40000", allowsRemotePlaintext: false, isLetIn: true },
    { from: "[::1]:40000", allowsRemotePlaintext: false, isLetIn: true },
    { from: "unix", allowsRemotePlaintext: false, isLetIn: true },
    { from: "10.0.0.7:40000", allowsRemotePlaintext: false, isLetIn: false },
    { from: "[2001:db8::7]:40000", allowsRemotePlaintext: false, isLetIn: false },
    { from: "10.0.0.7:40000", allowsRemotePlaintext: true, isLetIn: true },
  ])("a client at $from with remote plaintext $allowsRemotePlaintext: $isLetIn", async (given) => {
    const { admit } = setUp({ allowsRemotePlaintext: given.allowsRemotePlaintext });
    const admitted = admit(callFrom(given.from));
    if (given.isLetIn) await expect(admitted).resolves.toEqual([]);
    else
      await expect(admitted).rejects.toMatchObject({
        code: "PERMISSION_DENIED",
        message: expect.stringContaining("use the TLS port"),
      });
  });

  test("a token is asked for where that is required", async () => {
    const { admit } = setUp({ requiresPlaintextIdentity: true });
    await expect(admit(callFrom("127.0.0.1:1"))).resolves.toEqual(["spiffe://cluster.local/ns/default/sa/web"]);
  });
});

describe("with TLS", () => {
  test("a client is whom it proves to be", async () => {
    const { admit } = setUp();
    const identities = await admit(callFrom("10.0.0.7:1", true));
    expect(identities).toEqual(["spiffe://cluster.local/ns/default/sa/web"]);
  });

  test("a client that proves nothing is sent away", async () => {
    const { admit } = setUp({ authenticators: [] });
    await expect(admit(callFrom("10.0.0.7:1", true))).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });

  test("no one has to prove anything where that is switched off", async () => {
    const { admit } = setUp({ authenticators: [], requiresIdentity: false });
    await expect(admit(callFrom("10.0.0.7:1", true))).resolves.toEqual([]);
  });
});

describe("the rate of new streams", () => {
  const admitted = (admit: ReturnType<typeof setUp>["admit"]) =>
    admit(callFrom("127.0.0.1:1")).then(
      () => "in",
      (thrown: { code: string }) => thrown.code,
    );

  test("lets a burst in, refuses more, and lets one in again in time", async () => {
    const { admit, pass } = setUp();
    const burst = await Promise.all([admitted(admit), admitted(admit), admitted(admit)]);
    expect(burst).toEqual(["in", "in", "RESOURCE_EXHAUSTED"]);
    pass(100);
    expect(await admitted(admit)).toBe("in");
    expect(await admitted(admit)).toBe("RESOURCE_EXHAUSTED");
  });

  test("is not used up by those who are turned away for other reasons", async () => {
    const { admit } = setUp();
    for (let tries = 0; tries < 5; tries += 1) {
      await expect(admit(callFrom("10.0.0.7:1"))).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    }
    expect(await admitted(admit)).toBe("in");
  });

  test("makes a client wait a little, which ends with the call", async () => {
    const { admit } = setUp({ rate: { perSecond: 0.001, burst: 1, maxWaitMs: 10_000_000 } });
    expect(await admitted(admit)).toBe("in");
    const leaving = new AbortController();
    const waiting = admit(callFrom("127.0.0.1:1", false, leaving.signal));
    leaving.abort();
    await expect(waiting).resolves.toEqual([]);
  });
});
