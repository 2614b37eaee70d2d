import { expect, test } from "vitest";
import { makeCertificate } from "../../test/support/certs/certificates.ts";
import { temporaryFolder } from "../../test/support/files/temporary-folder.ts";
import { until } from "../../test/support/wait/until.ts";
import { silentLogger } from "../base/logger.ts";
import { watchClientCertificate } from "./watch-client-certificate.ts";

test("a rotated certificate is reported when chain and key belong together, and only then", async () => {
  using folder = temporaryFolder();
  const [first, second, third] = await Promise.all([makeCertificate(), makeCertificate(), makeCertificate()]);
  const chain = folder.write("cert-chain.pem", first.pem);
  const key = folder.write("key.pem", first.keyPem);
  const rotations: string[] = [];
  await using _watch = watchClientCertificate({
    chain,
    key,
    log: silentLogger,
    onRotated: () => rotations.push(folder.read("cert-chain.pem")),
  });
  folder.write("cert-chain.pem", second.pem);
  folder.write("key.pem", second.keyPem);
  await until(() => rotations.length === 1);
  expect(rotations).toEqual([second.pem]);
  folder.write("key.pem", third.keyPem);
  folder.write("cert-chain.pem", third.pem);
  await until(() => rotations.length === 2);
  expect(rotations).toEqual([second.pem, third.pem]);
});
