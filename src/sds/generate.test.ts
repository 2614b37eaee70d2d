import { describe, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { Secret } from "../base/secret.ts";
import { generate, inBatches } from "./generate.ts";
import type { SdsContext } from "./sds-context.ts";
import type { SecretSource, SourceSecret } from "./secret-source.ts";

const secret = (name: string): SourceSecret => ({
  kind: "key-pair",
  name,
  certificateChain: Buffer.from(name),
  privateKey: new Secret(Buffer.from("key")),
  version: "v1",
});

function setUp(get: SecretSource["get"]) {
  const log = recordLog();
  const context = { source: { get, onChange: () => () => undefined }, log } as unknown as SdsContext;
  return { context, log };
}

const RUNNING = new AbortController().signal;

describe("secrets", () => {
  test("come in the order of the names, whichever is ready first", async () => {
    const { context } = setUp(async (name) => {
      if (name === "slow") await new Promise((resolve) => setImmediate(resolve));
      return name === "none" ? undefined : secret(name);
    });
    const found = await generate(context, ["slow", "none", "quick"], RUNNING);
    expect(found.map((each) => each?.name)).toEqual(["slow", undefined, "quick"]);
  });

  test("of no name are none", async () => {
    const { context } = setUp(async () => Promise.reject(new Error("must not be asked")));
    expect(await generate(context, [], RUNNING)).toEqual([]);
  });

  test.each([{ names: ["bad"] }, { names: ["good", "bad"] }])(
    "of which one cannot be had fail with its name and reason: $names",
    async ({ names }) => {
      const { context, log } = setUp(async (name) => {
        if (name === "bad") throw new Error("the CA is away");
        return secret(name);
      });
      const text = "failed to generate secret for bad: the CA is away";
      await expect(generate(context, names, RUNNING)).rejects.toMatchObject({ code: "UNKNOWN", message: text });
      expect(log.lines).toMatchObject([{ level: "warn", message: text }]);
    },
  );

  test("of which one fails stop waiting for the others", async () => {
    const given: AbortSignal[] = [];
    const { context } = setUp((name, signal) => {
      if (signal !== undefined) given.push(signal);
      if (name === "bad") return Promise.reject(new Error("no"));
      return new Promise(() => undefined);
    });
    await expect(generate(context, ["waiting", "bad"], RUNNING)).rejects.toThrow("no");
    expect(given.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  test("that no one waits for any more fail without a word in the log", async () => {
    const leaving = new AbortController();
    const { context, log } = setUp(async () => {
      leaving.abort();
      throw new Error("cancelled");
    });
    await expect(generate(context, ["default"], leaving.signal)).rejects.toThrow("cancelled");
    expect(log.lines).toEqual([]);
  });

  test("with endless names and reasons fail with words that fit a header", async () => {
    const { context } = setUp(async () => Promise.reject(new Error("y".repeat(10_000))));
    const failing = generate(context, ["x".repeat(10_000)], RUNNING);
    await expect(failing).rejects.toThrow(/^failed to generate secret for x{512}: y+$/);
    await failing.catch((thrown: Error) => expect(thrown.message.length).toBe(4096));
  });
});

test("at most sixteen are asked for at a time, and the results keep their order", async () => {
  const names = Array.from({ length: 40 }, (_, index) => `n${index}`);
  let running = 0;
  let most = 0;
  const results = await inBatches(names, async (name) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    return name.toUpperCase();
  });
  expect(results).toEqual(names.map((name) => name.toUpperCase()));
  expect(most).toBe(16);
});
