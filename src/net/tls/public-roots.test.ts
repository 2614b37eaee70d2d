import { execFileSync } from "node:child_process";
import { rootCertificates } from "node:tls";
import { expect, test } from "vitest";
import { publicRoots } from "./public-roots.ts";

test("the context is made once", () => {
  expect(publicRoots()).toBe(publicRoots());
});

test("the runtime's list is there also when OpenSSL is configured to look elsewhere", () => {
  const script = 'console.log(require("node:tls").rootCertificates.length)';
  const options = { encoding: "utf8", env: { PATH: process.env.PATH } } as const;
  expect(Number(execFileSync(process.execPath, ["--use-openssl-ca", "-e", script], options))).toBe(
    rootCertificates.length,
  );
});
