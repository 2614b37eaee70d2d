import { createSecureContext, getCiphers } from "node:tls";
import { expect, test } from "vitest";
import { readCipherSuites } from "./cipher-suites.ts";

const OF_TLS13 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

test.each([
  { names: [], list: undefined },
  { names: ["TLS_AES_256_GCM_SHA384"], list: OF_TLS13 },
  { names: ["TLS_RSA_WITH_AES_128_CBC_SHA"], list: `${OF_TLS13}:AES128-SHA` },
  {
    names: ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305"],
    list: `${OF_TLS13}:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305`,
  },
  {
    names: ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"],
    list: `${OF_TLS13}:ECDHE-RSA-CHACHA20-POLY1305`,
  },
])("$names are $list", ({ names, list }) => {
  expect(readCipherSuites(names)).toBe(list);
});

test.each(["TLS_RSA_WITH_RC4_128_SHA", "ECDHE-RSA-AES128-SHA", "tls_aes_128_gcm_sha256", "constructor"])(
  "%s is refused with what is allowed",
  (name) => {
    expect(() => readCipherSuites([name])).toThrow(
      `--tls-cipher-suites has "${name}", allowed are TLS_AES_128_GCM_SHA256, `,
    );
  },
);

test("every allowed name is one that the TLS library of this node has", () => {
  const [, allowed = ""] = /allowed are (.+)/.exec(String(catching(() => readCipherSuites(["?"])))) ?? [];
  const names = allowed.split(", ");
  expect(names.length).toBeGreaterThan(20);
  const known = new Set(getCiphers());
  for (const name of names) {
    const list = readCipherSuites([name]) ?? "";
    expect(() => createSecureContext({ ciphers: list })).not.toThrow();
    expect(list.split(":").filter((suite) => !known.has(suite.toLowerCase()))).toEqual([]);
  }
});

function catching(run: () => unknown): unknown {
  try {
    return run();
  } catch (thrown) {
    return thrown;
  }
}
