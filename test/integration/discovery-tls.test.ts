import { once } from "node:events";
import { type ConnectionOptions, connect } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import {
  type DiscoveryServer,
  type DiscoveryServerOptions,
  startDiscoveryServer,
} from "../support/discovery/server.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const start = async (options: DiscoveryServerOptions): Promise<DiscoveryServer> =>
  opened.add(await startDiscoveryServer(options));

/** Version and suite that both agree on, or that they do not. */
async function handshake({ ports, discovery }: DiscoveryServer, options: ConnectionOptions): Promise<string> {
  const socket = connect({
    host: "127.0.0.1",
    port: ports.secureGrpc,
    ca: discovery.rootPem,
    servername: "istiod.istio-system.svc",
    ALPNProtocols: ["h2"],
    ...options,
  });
  try {
    await once(socket, "secureConnect");
    return `${socket.getProtocol()} ${socket.getCipher().standardName}`;
  } catch {
    return "refused";
  } finally {
    socket.destroy();
  }
}

const OF_TLS13 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
const ONE_SUITE = "ECDHE-ECDSA-AES256-GCM-SHA384";
const V12 = { maxVersion: "TLSv1.2" } as const;

test("the TLS port takes the given suites alone, and TLS 1.3 beside them", async () => {
  const server = await start({ tlsCiphers: `${OF_TLS13}:${ONE_SUITE}` });
  expect(await handshake(server, V12)).toBe("TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384");
  expect(await handshake(server, { ...V12, ciphers: "ECDHE-ECDSA-AES128-GCM-SHA256" })).toBe("refused");
  expect(await handshake(server, {})).toMatch(/^TLSv1\.3 /);
});

test("without a list those of the TLS library are taken, from TLS 1.2 on", async () => {
  const server = await start({});
  const suite = { ...V12, ciphers: "ECDHE-ECDSA-AES128-GCM-SHA256" };
  expect(await handshake(server, suite)).toBe("TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256");
  expect(await handshake(server, { minVersion: "TLSv1", maxVersion: "TLSv1.1" })).toBe("refused");
});

test("a least version of 1.3 refuses clients of 1.2", async () => {
  const server = await start({ tlsMinVersion: "TLSv1.3" });
  expect(await handshake(server, V12)).toBe("refused");
  expect(await handshake(server, {})).toMatch(/^TLSv1\.3 /);
});
