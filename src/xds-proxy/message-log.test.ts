import { describe, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { ask, LDS, push } from "../../test/support/xds/harness.ts";
import { silentLogger } from "../base/logger.ts";
import { ResponseScanner } from "./core/response-scanner.ts";
import { createMessageLog } from "./message-log.ts";

const ECDS = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig";

function lines(kind: "sotw" | "delta", use: (log: ReturnType<typeof createMessageLog>) => void): unknown[] {
  const log = recordLog();
  use(createMessageLog(kind, log));
  return log.lines.map(({ level, message, fields }) => [level, message, fields]);
}

describe("debug lines say what the reference's say", () => {
  test.each([
    ["sotw", "accepted XDS connection from Envoy, forwarding to upstream XDS server"],
    ["delta", "accepted delta xds connection from envoy, forwarding to upstream"],
  ] as const)("a %s stream that begins", (kind, text) => {
    expect(lines(kind, (log) => log.accepted())).toEqual([["debug", text, {}]]);
  });

  test("requests: the whole type in one protocol, counts in the other, and of a NACK its reason", () => {
    expect(lines("sotw", (log) => log.request(ask("sotw", LDS, { names: ["a"], nonce: "n" })))).toEqual([
      ["debug", `request for type url ${LDS}`, {}],
    ]);
    expect(lines("sotw", (log) => log.request(ask("sotw", LDS, { nack: "bad" })))).toEqual([
      ["debug", `request for type url ${LDS}`, { nack: "bad" }],
    ]);
    const request = ask("delta", LDS, { names: ["a", "b"], unsubscribe: ["c"], initial: { d: "1" }, nonce: "n" });
    expect(lines("delta", (log) => log.request(request))).toEqual([
      ["debug", "delta request", { type: "LDS", sub: 2, unsub: 1, nonce: "n", initial: 1 }],
    ]);
    expect(lines("delta", (log) => log.request(ask("delta", LDS, { nonce: "n", nack: "bad" })))).toEqual([
      ["debug", "delta request", { type: "LDS", sub: 0, unsub: 0, nonce: "n", initial: 0, nack: "bad" }],
    ]);
  });

  test.each([
    ["sotw", { type: "LDS", resources: 2 }],
    ["delta", { type: "LDS", nonce: "n", resources: 2, removes: 3 }],
  ] as const)("%s responses: what was counted in passing", (kind, fields) => {
    const scanner = new ResponseScanner(kind);
    const bytes = push(kind, LDS, ["a", "b"], { nonce: "n", removed: ["x", "y", "z"] });
    for (const byte of bytes) scanner.feed(Buffer.from([byte]));
    expect(lines(kind, (log) => log.response(scanner))).toEqual([["debug", "upstream response", fields]]);
  });

  test.each([
    ["sotw", { resources: 2 }],
    ["delta", { resources: "[a b]", removes: "[x]" }],
  ] as const)("%s extensions that were rewritten", (kind, fields) => {
    const bytes = push(kind, ECDS, ["a", "b"], { removed: ["x"] });
    expect(lines(kind, (log) => log.converted(bytes))).toEqual([["debug", "forward ECDS", fields]]);
  });
});

test("a message that is broken inside costs a line, never the stream", () => {
  const broken = Buffer.from([0x0a, 0x02, 0xff, 0xff]);
  expect(lines("delta", (log) => log.request(broken))).toEqual([
    ["debug", "a message that cannot be shown", { reason: expect.any(String) }],
  ]);
});

test("without debug nothing is read", () => {
  const log = createMessageLog("delta", silentLogger);
  const bytes = new Proxy(Buffer.alloc(4), {
    get() {
      throw new Error("it was read");
    },
  });
  expect(() => {
    log.request(bytes);
    log.converted(bytes);
  }).not.toThrow();
});
