import { expect, test } from "vitest";
import { GENERATIONS } from "./environment-variable.ts";
import { environmentWarnings, nearMisses, withoutEffect } from "./environment-warnings.ts";

test("the warnings of every command cover all scalars but those read at first use", () => {
  const env = {
    SECRET_TTL: "1",
    DISABLE_ENVOY: "x",
    ENVOY_STATUS_PORT: "x",
    SECRET_GRACE_PERIOD_RATIO: "x",
    DNS_FORWARD_TIMEOUT: "x",
  };
  expect(environmentWarnings(env).map(({ text, variable }) => `${variable}: ${text}`)).toEqual([
    "SECRET_TTL: Invalid environment variable value `1`, expecting a duration, defaulting to 24h0m0s",
    "SECRET_GRACE_PERIOD_RATIO: Invalid environment variable value `x`, expecting a floating-point value, defaulting to 0.5",
    "DISABLE_ENVOY: Invalid environment variable value `x`, expecting true/false, defaulting to false",
    "ENVOY_STATUS_PORT: Invalid environment variable value `x`, expecting an integer, defaulting to 15021",
  ]);
});

test.each([
  { generation: undefined, warns: false },
  { generation: "1.8", warns: true },
  { generation: "0.1", warns: false },
])("of generation $generation, a variable only 1.8 reads is checked: $warns", ({ generation, warns }) => {
  expect(environmentWarnings({ PILOT_AGENT_GENERATION: generation, CALL_CREDENTIALS: "x" })).toHaveLength(
    warns ? 1 : 0,
  );
});

test("a variable without effect is named with what replaces it, in whichever generation", () => {
  expect(
    withoutEffect({ XDS_SAVE: "/tmp/x", INITIAL_BACKOFF_MSEC: "10", SKIP_PARSE_TOKEN: "", CA_ADDR: "a:1" }, "1.20"),
  ).toEqual([
    expect.stringMatching(/^INITIAL_BACKOFF_MSEC has no effect: certificate requests are retried/),
    "XDS_SAVE has no effect: XDS_LAST_GOOD records the configuration.",
  ]);
});

test.each([
  { name: "XDS_LOCAL", says: /PROXY_XDS_DEBUG_VIA_AGENT/ },
  { name: "XDS_SAVE", says: /XDS_LAST_GOOD/ },
  { name: "SECRET_ROTATION_CHECK_INTERVAL", says: /SECRET_GRACE_PERIOD_RATIO/ },
  { name: "STALED_CONNECTION_RECYCLE_RUN_INTERVAL", says: /released when it ends/ },
  { name: "ENABLE_INGRESS_GATEWAY_SDS", says: /always serve Kubernetes secrets/ },
  { name: "INITIAL_BACKOFF_MSEC", says: /retried after a tenth of a second/ },
  { name: "USE_TOKEN_FOR_CSR", says: /every certificate request carries the token/ },
  { name: "SKIP_PARSE_TOKEN", says: /sent as it is/ },
] as const)("$name is never ignored in silence", ({ name, says }) => {
  for (const generation of GENERATIONS) {
    expect(withoutEffect({ [name]: "1" }, generation)).toEqual([expect.stringMatching(says)]);
  }
});

test.each([
  { generation: "1.7", lines: [] },
  {
    generation: "1.8",
    lines: ["PLUGINS has no effect in 1.8: CA_PROVIDER=GoogleCA and GoogleCAS trade the token by themselves"],
  },
  {
    generation: "master",
    lines: ["PLUGINS has no effect in master: CA_PROVIDER=GoogleCA and GoogleCAS trade the token by themselves"],
  },
] as const)("PLUGINS in $generation: $lines", ({ generation, lines }) => {
  expect(withoutEffect({ PLUGINS: "GoogleTokenExchange" }, generation)).toEqual(lines);
});

test("names that look like a variable's are noticed; those of others, and those of a family, are not", () => {
  expect(nearMisses({ PROXY_CONFG: "x", DISCOVERY_ADRESS: "x" })).toEqual([
    "PROXY_CONFG is no variable of pilot-agent; did you mean PROXY_CONFIG?",
  ]);
  const others = {
    PATH: "/bin",
    HOME: "/",
    ISTIO_META_ANYTHING: "x",
    KUBERNETES_SERVICE_PORT_HTTPS: "443",
    HOSTNAME: "a",
  };
  expect(nearMisses({ ...others, PROXY_CONFIG: "x", ISTIO_META_DNS_CAPTURE: "true", npm_config_cache: "x" })).toEqual(
    [],
  );
});
