import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeCertificate } from "../../test/support/certs/certificates.ts";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { until } from "../../test/support/wait/until.ts";
import { defaultProxyConfig } from "../istio-api/proxy-config/default-proxy-config.ts";
import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import { CURRENT_PROXY_CONFIG_RULES } from "../istio-api/proxy-config/proxy-config-rules.ts";
import { certificateFilesOf } from "./certificate-files.ts";
import { watchForReload } from "./watch-for-reload.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reload-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const path = (name: string) => join(folder, name);

async function start(proxyConfig: ProxyConfig, override = "") {
  const reasons: string[] = [];
  const log = recordLog();
  const config = {
    proxyConfig: { ...defaultProxyConfig(CURRENT_PROXY_CONFIG_RULES), ...proxyConfig },
    bootstrap: { template: "", override },
  };
  const watch = await watchForReload({ config, log, reload: (reason) => void reasons.push(reason), settleMs: 30 });
  return {
    reasons,
    log,
    reloaded: (times: number) =>
      until(async () => (reasons.length >= times ? undefined : `${reasons.length} reloads, ${log.printed.join()}`)),
    [Symbol.asyncDispose]: () => watch.stop(),
  };
}

const waitsForItsPair = (log: ReturnType<typeof recordLog>) =>
  until(async () => (log.printed.some((line) => line.includes("does not match its chain yet")) ? undefined : "silent"));

const service = () => ({
  address: "metrics:15000",
  tlsSettings: { mode: "MUTUAL" as const, clientCertificate: path("chain.pem"), privateKey: path("key.pem") },
});

test("a key and then its chain restart once, when both are there", async () => {
  const [before, after] = [await makeCertificate(), await makeCertificate()];
  writeFileSync(path("chain.pem"), before.pem);
  writeFileSync(path("key.pem"), before.keyPem);
  await using watched = await start({ envoyMetricsService: service() });
  writeFileSync(path("key.pem"), after.keyPem);
  await waitsForItsPair(watched.log);
  expect(watched.reasons).toEqual([]);
  writeFileSync(path("chain.pem"), after.pem);
  await watched.reloaded(1);
  expect(watched.reasons).toEqual(["certificates have changed"]);
});

test("a volume whose link is swapped restarts once", async () => {
  for (const version of ["v1", "v2"]) {
    mkdirSync(path(version));
    const { pem, keyPem } = await makeCertificate();
    writeFileSync(path(`${version}/chain.pem`), pem);
    writeFileSync(path(`${version}/key.pem`), keyPem);
  }
  symlinkSync("v1", path("..data"));
  for (const name of ["chain.pem", "key.pem"]) symlinkSync(`..data/${name}`, path(name));
  await using watched = await start({ envoyAccessLogService: service() });
  symlinkSync("v2", path("..data_tmp"));
  renameSync(path("..data_tmp"), path("..data"));
  await watched.reloaded(1);
  expect(watched.reasons).toEqual(["certificates have changed"]);
});

test("the certificates that the bootstrap and its override name are watched, and others once it names those", async () => {
  const names = (file: string) =>
    `a: { common_tls_context: { validation_context: { trusted_ca: { filename: ${file} } } } }\n`;
  for (const name of ["one", "two", "three"]) writeFileSync(path(name), "1");
  writeFileSync(path("custom.yaml"), names(path("one")));
  writeFileSync(path("override.yaml"), names(path("two")));
  await using watched = await start({ customConfigFile: path("custom.yaml") }, path("override.yaml"));
  writeFileSync(path("one"), "2");
  await watched.reloaded(1);
  writeFileSync(path("two"), "2");
  await watched.reloaded(2);
  writeFileSync(path("custom.yaml"), names(path("three")));
  await watched.reloaded(3);
  // Written until it is seen: the watch of the new name begins a moment after the reload.
  let written = 0;
  await until(async () => {
    written += 1;
    writeFileSync(path("three"), `${written}`);
    return watched.reasons.length >= 4 ? undefined : "the new name is not watched";
  });
  expect(watched.reasons.slice(0, 4)).toEqual([
    "certificates have changed",
    "certificates have changed",
    "the bootstrap has changed",
    "certificates have changed",
  ]);
});

test("a chain and its key are found together, in either spelling, at any depth; inline certificates are not files", () => {
  const context = {
    tls_certificates: [{ certificate_chain: { filename: "/c" }, private_key: { filename: "/k" } }],
    validation_context: { trusted_ca: { filename: "/r" }, crl: { inline_string: "x" } },
  };
  const spelled = { tlsCertificates: [{ certificateChain: { filename: "/C" }, privateKey: { filename: "/K" } }] };
  expect(certificateFilesOf({ static_resources: { clusters: [{ context }, { context: spelled }, null] } })).toEqual({
    files: ["/c", "/k", "/r", "/C", "/K"],
    pairs: [
      { chain: "/c", key: "/k" },
      { chain: "/C", key: "/K" },
    ],
  });
});
