import { createHook } from "node:async_hooks";
import { expect, test } from "vitest";
import { generateKeyPair, parsePrivateKey } from "./key-pair.ts";
import { signBytes } from "./signature.ts";

test.each([0, 1024, 2047, 2048.5, Number.NaN])("an RSA key of %d bits is refused with the minimum", async (bits) => {
  await expect(generateKeyPair({ type: "rsa", bits })).rejects.toMatchObject({
    code: "bad-key",
    message: `requested key size does not meet the minimum required size of 2048 (requested: ${bits})`,
  });
});

test("the event loop turns while keys are generated and used", async () => {
  let turns = 0;
  let finished = false;
  const turn = () => {
    turns += 1;
    if (!finished) setImmediate(turn);
  };
  const jobs = recordJobs();
  const pending = generateKeyPair({ type: "rsa", bits: 3072 }).then((pair) =>
    signBytes(Buffer.from("x"), pair.privateKey),
  );
  // A call that did the work in place would come back only now, with the key made and no turn taken.
  setImmediate(turn);
  await pending;
  finished = true;
  expect(turns).toBeGreaterThan(10);
  expect(jobs.stop()).toEqual(expect.arrayContaining(["RANDOMPRIMEREQUEST", "SIGNREQUEST"]));
});

test("each key is new", async () => {
  const [one, two] = await Promise.all([
    generateKeyPair({ type: "ecdsa", curve: "P256" }),
    generateKeyPair({ type: "ecdsa", curve: "P256" }),
  ]);
  expect(one.privateKey.equals(two.privateKey)).toBe(false);
});

test("a text that is not a key is refused without quoting it", () => {
  expect(() => parsePrivateKey("-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----")).toThrow(
    expect.objectContaining({ code: "bad-key", message: expect.not.stringContaining("c2VjcmV0") }),
  );
});

/** Which kinds of asynchronous work were started: thread-pool jobs appear under their own names. */
function recordJobs(): { stop(): string[] } {
  const types: string[] = [];
  const hook = createHook({ init: (_id, type) => void types.push(type) }).enable();
  return {
    stop: () => {
      hook.disable();
      return types;
    },
  };
}
