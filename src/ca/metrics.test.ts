import { expect, test } from "vitest";
import { MetricRegistry } from "../base/metric-registry.ts";
import { declareCaServerMetrics } from "./metrics.ts";

test("expiry is reported as a time and as seconds left, negative once it is over, and not at all without a certificate", () => {
  const registry = new MetricRegistry();
  let now = 1_000_000;
  const metrics = declareCaServerMetrics(registry, () => now);
  expect(registry.render()).not.toContain("expiry");
  metrics.setExpirySource(() => ({ root: new Date(1_060_000), chain: undefined }));
  expect(registry.render()).toContain("citadel_server_root_cert_expiry_timestamp 1060\n");
  expect(registry.render()).toContain("citadel_server_root_cert_expiry_seconds 60\n");
  expect(registry.render()).not.toContain("cert_chain_expiry");
  now = 1_061_000;
  expect(registry.render()).toContain("citadel_server_root_cert_expiry_seconds -1\n");
});

test("failed signatures are counted by their cause", () => {
  const registry = new MetricRegistry();
  const metrics = declareCaServerMetrics(registry);
  metrics.signFailures.inc(["CSR_ERROR"]);
  metrics.signFailures.inc(["TTL_ERROR"], 2);
  expect(registry.render()).toContain('citadel_server_csr_sign_err_count{error="CSR_ERROR"} 1');
  expect(registry.render()).toContain('citadel_server_csr_sign_err_count{error="TTL_ERROR"} 2');
});
