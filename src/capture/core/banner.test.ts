import { expect, test } from "vitest";
import { configJson } from "../../../test/support/capture/config-json.ts";
import { captureBanner } from "./banner.ts";
import { DEFAULT_OPTIONS, DEFAULT_SETTINGS } from "./settings.ts";

test("today's banner is two log entries: the environment, then every setting, each ending with an empty line", () => {
  const settings = { ...DEFAULT_SETTINGS, dnsServersV4: ["1.1.1.1", "2.2.2.2"], dnsServersV6: ["::2"] };
  const { log, stdout } = captureBanner(settings, DEFAULT_OPTIONS, { ENVOY_PORT: "15001", HOME: "/" });
  expect(stdout).toEqual([]);
  expect(log[0]).toMatch(/^Istio iptables environment:\nENVOY_PORT=15001\nINBOUND_CAPTURE_PORT=\n/);
  expect(log[0]).toMatch(/ISTIO_LOCAL_EXCLUDE_PORTS=\nISTIO_EXCLUDE_INTERFACES=\n.*INVALID_DROP=\n$/s);
  expect(log[1]).toMatch(/^Istio config:\nPROXY_PORT=15001\nPROXY_INBOUND_CAPTURE_PORT=15006\n/);
  expect(log[1]).toContain(
    "DNS_SERVERS=[1.1.1.1 2.2.2.2],[::2]\nNETWORK_NAMESPACE=\nCNI_MODE=false\nEXCLUDE_INTERFACES=\nRECONCILE=false\n",
  );
  expect(log[1]).toMatch(/NATIVE_NFTABLES=false\nFORCE_IPTABLES_BINARY=\n$/);
});

test("native nftables and 1.20 have their own headings", () => {
  expect(captureBanner({ ...DEFAULT_SETTINGS, nativeNftables: true }, DEFAULT_OPTIONS, {}).log[0]).toContain(
    "Istio nftables environment:",
  );
  const old = captureBanner({ ...DEFAULT_SETTINGS, generation: "1.20" }, DEFAULT_OPTIONS, {});
  expect(old.log[1]).toMatch(
    /^Istio iptables variables:\nIPTABLES_VERSION=\nPROXY_PORT=15001\n.*EXCLUDE_INTERFACES=\n$/s,
  );
});

test("the JSON form has the reference's keys, numbers and nulls", () => {
  const json = configJson(DEFAULT_SETTINGS, DEFAULT_OPTIONS);
  expect(Object.keys(json)).toHaveLength(39);
  expect(json).toMatchObject({
    IPTABLES_PROBE_PORT: 15002,
    PROBE_TIMEOUT: 5e9,
    DNS_SERVERS_V4: null,
    HOST_IPV4_LOOPBACK_CIDR: "127.0.0.1/32",
  });
});
