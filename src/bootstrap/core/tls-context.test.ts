import { describe, expect, test } from "vitest";
import type { ClientTlsSettings } from "../../istio-api/proxy-config/proxy-config.ts";
import { upstreamTlsSocket } from "./tls-context.ts";

const NO_PATHS = { rootCert: "", certChain: "", key: "" };

/** The context in short: names of secrets, ALPN, server name. */
function summary(settings: ClientTlsSettings | undefined, paths = NO_PATHS, alpn = true) {
  const socket = upstreamTlsSocket({ settings, paths, defaultSni: "tracer", alpn });
  if (socket === undefined) return undefined;
  const config = socket.typed_config as Record<string, unknown>;
  const context = config.common_tls_context as Record<string, unknown>;
  const secret = (value: unknown) => {
    const { name, sds_config: source } = (value ?? {}) as { name?: string; sds_config?: Record<string, unknown> };
    return name && `${name} ${source?.initial_fetch_timeout ?? "-"}`;
  };
  const validation = context.combined_validation_context as Record<string, unknown> | undefined;
  return {
    certificate: secret((context.tls_certificate_sds_secret_configs as unknown[] | undefined)?.[0]),
    root: secret(validation?.validation_context_sds_secret_config),
    names: validation?.default_validation_context,
    alpn: context.alpn_protocols,
    sni: config.sni,
  };
}

describe("TLS of remote services", () => {
  test.each([undefined, {}, { mode: "DISABLE" as const }])("%j means no transport socket", (settings) => {
    expect(summary(settings)).toBeUndefined();
  });

  test("SIMPLE checks the peer with the CA file", () => {
    expect(summary({ mode: "SIMPLE", caCertificates: "foo.pem", sni: "s" })).toEqual({
      certificate: undefined,
      root: "file-root:foo.pem -",
      names: {},
      alpn: ["h2"],
      sni: "s",
    });
  });

  test("metadata paths take the place of those in the settings", () => {
    const settings: ClientTlsSettings = {
      mode: "MUTUAL",
      caCertificates: "foo.pem",
      clientCertificate: "c",
      privateKey: "k",
    };
    const paths = { rootCert: "/foo/bar/baz.pem", certChain: "/c.pem", key: "/k.pem" };
    expect(summary(settings, paths)).toMatchObject({
      root: "file-root:/foo/bar/baz.pem -",
      certificate: "file-cert:/c.pem~/k.pem -",
    });
  });

  test("without a CA the system's roots are used", () => {
    expect(summary({ mode: "SIMPLE" })?.root).toBe("file-root:system -");
    expect(summary({ mode: "MUTUAL", clientCertificate: "c", privateKey: "k" })).toMatchObject({
      root: "file-root:system -",
      certificate: "file-cert:c~k -",
    });
  });

  test("MUTUAL needs both certificate and key to present one", () => {
    expect(summary({ mode: "MUTUAL", clientCertificate: "c" })?.certificate).toBeUndefined();
  });

  test("a peer that need not be verified has no validation", () => {
    expect(summary({ mode: "SIMPLE", insecureSkipVerify: true })?.root).toBeUndefined();
  });

  test("ISTIO_MUTUAL waits for the mesh's own certificates and has a default server name", () => {
    expect(summary({ mode: "ISTIO_MUTUAL", subjectAltNames: ["a", "b"] })).toEqual({
      certificate: "default 0s",
      root: "ROOTCA 0s",
      names: { match_subject_alt_names: [{ exact: "a" }, { exact: "b" }] },
      alpn: ["istio", "h2"],
      sni: "tracer",
    });
  });

  test("peers that speak HTTP/1.1 get no ALPN", () => {
    expect(summary({ mode: "SIMPLE" }, NO_PATHS, false)?.alpn).toBeUndefined();
  });
});
