import { generateKeyPairSync, sign, verify } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CloseStack } from "../src/base/close-stack.ts";
import { silentLogger } from "../src/base/logger.ts";
import { MetricRegistry } from "../src/base/metric-registry.ts";
import { openDevelopmentIssuer } from "../src/ca/development-issuer.ts";
import { declareCaServerMetrics } from "../src/ca/metrics.ts";
import { startCaServer } from "../src/ca/start-ca-server.ts";
import { buildCsr } from "../src/protocol/x509/csr.ts";
import { generateKeyPair } from "../src/protocol/x509/key-pair.ts";
import { parsePublicKey } from "../src/protocol/x509/public-key.ts";
import type { Bench } from "./bench.ts";
import { rate } from "./ca-issue/rate.ts";
import { startChild } from "./child.ts";

const ROUNDS = 3;
const IDENTITY = "spiffe://cluster.local/ns/default/sa/web";

/**
 * Certificates per second with ECDSA P-256: over TLS gRPC with a token each, and by the authority alone. Two floors of the same run:
 * nothing but signatures, and nothing but the cryptography that a certificate needs (read the CSR's key, verify the CSR, sign).
 */
const bench: Bench = {
  name: "ca-issue",
  async run({ note }) {
    await using opened = new CloseStack();
    const directory = await mkdtemp(join(tmpdir(), "ca-bench-"));
    opened.defer(() => rm(directory, { recursive: true, force: true }));
    const issuer = await openDevelopmentIssuer(directory);
    const server = opened.add(
      await startCaServer({
        directory,
        trustDomain: "cluster.local",
        listen: { host: "127.0.0.1", port: 0 },
        hosts: ["127.0.0.1"],
        metrics: declareCaServerMetrics(new MetricRegistry()),
        log: silentLogger,
        jwtRules: [issuer.rule],
        selfSigned: { key: { type: "ecdsa", curve: "P256" } },
      }),
    );
    const endpoint = `127.0.0.1:${"port" in server.address ? server.address.port : 0}`;
    const token = (await issuer.issue({ namespace: "default", name: "web" }, 3600)).reveal();
    const csrPem = await buildCsr(await generateKeyPair({ type: "ecdsa", curve: "P256" }), { hosts: [IDENTITY] });
    const args = [endpoint, server.authority.material.rootPem, token, csrPem];
    await using workloads = await startChild("ca-issue/load.ts", args);

    const kinds: Record<string, () => Promise<number>> = {
      signatures: () => rate(bareSignature()),
      cryptography: () => rate(bareCryptography()),
      authority: () => rate(() => server.authority.sign({ csrPem, identities: [IDENTITY], ttlSeconds: 3600n })),
      server: () => {
        workloads.process.send("go");
        return workloads.next<number>();
      },
    };
    const figures = new Map<string, number[]>(Object.keys(kinds).map((name) => [name, []]));
    for (let round = 0; round <= ROUNDS; round += 1) {
      note(round === 0 ? "warming up" : `round ${round} of ${ROUNDS}`);
      for (const [name, measure] of Object.entries(kinds)) {
        const perSecond = await measure();
        if (round > 0) figures.get(name)?.push(perSecond);
      }
    }
    const of = (name: string) => median(figures.get(name) ?? []);
    const to = (name: string) => ({ to: `bare ${name} (${of(name).toFixed(0)}/s)` });
    const row = (name: string, kind: string, floor: string) => ({
      name,
      value: of(kind),
      unit: "/s",
      ratio: { ...to(floor), value: of(kind) / of(floor) },
    });
    return [
      row("certificates over TLS gRPC, a token each", "server", "signatures"),
      row("certificates over TLS gRPC, a token each", "server", "cryptography"),
      row("certificates by the authority alone", "authority", "signatures"),
      row("certificates by the authority alone", "authority", "cryptography"),
    ];
  },
};

export default bench;

const signOnPool = promisify(sign);
const verifyOnPool = promisify(verify);

function bareSignature(): () => Promise<unknown> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const body = Buffer.alloc(500, 1);
  return () => signOnPool("sha256", body, privateKey);
}

function bareCryptography(): () => Promise<unknown> {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const body = Buffer.alloc(500, 1);
  const signature = sign("sha256", body, privateKey);
  const spki = publicKey.export({ type: "spki", format: "der" });
  return async () => {
    await verifyOnPool("sha256", body, parsePublicKey(spki), signature);
    await signOnPool("sha256", body, privateKey);
  };
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
