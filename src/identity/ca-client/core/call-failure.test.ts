import { describe, expect, test } from "vitest";
import { GrpcError } from "../../../grpc/status.ts";
import type { GrpcStatusName } from "../../../protocol/grpc-status-names.ts";
import { CaError } from "../ca-error.ts";
import { callFailure } from "./call-failure.ts";

const TARGET = { endpoint: "istiod:15012", serverName: "istiod.istio-system.svc", rootName: "/etc/root.pem" };

const tls = (code: string) => Object.assign(new Error(`handshake: ${code}`), { code });

test.each<{ status: GrpcStatusName; code: string }>([
  { status: "UNAVAILABLE", code: "unreachable" },
  { status: "DEADLINE_EXCEEDED", code: "timeout" },
  { status: "CANCELLED", code: "cancelled" },
  { status: "UNAUTHENTICATED", code: "unauthenticated" },
  { status: "PERMISSION_DENIED", code: "unauthenticated" },
  { status: "INTERNAL", code: "rejected" },
  { status: "INVALID_ARGUMENT", code: "rejected" },
  { status: "RESOURCE_EXHAUSTED", code: "rejected" },
])("$status is $code, and the message names the CA and what it said", ({ status, code }) => {
  const failure = new GrpcError(status, "no way");
  const reported = callFailure(failure, TARGET);
  expect(reported).toBeInstanceOf(CaError);
  expect(reported.code).toBe(code);
  expect(reported.message).toMatch(/^CA at istiod:15012: create certificate: /);
  expect(reported.message).toContain("no way");
  expect(reported.cause).toBe(failure);
});

describe("a certificate of the CA that cannot be trusted", () => {
  test.each([
    { tlsCode: "UNABLE_TO_VERIFY_LEAF_SIGNATURE", says: "certificate not trusted (root used: /etc/root.pem)" },
    { tlsCode: "SELF_SIGNED_CERT_IN_CHAIN", says: "certificate not trusted (root used: /etc/root.pem)" },
    { tlsCode: "DEPTH_ZERO_SELF_SIGNED_CERT", says: "certificate not trusted (root used: /etc/root.pem)" },
    { tlsCode: "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", says: "certificate not trusted (root used: /etc/root.pem)" },
    { tlsCode: "CERT_HAS_EXPIRED", says: "certificate has expired (root used: /etc/root.pem)" },
    { tlsCode: "CERT_NOT_YET_VALID", says: "certificate is not valid yet (root used: /etc/root.pem)" },
    {
      tlsCode: "ERR_TLS_CERT_ALTNAME_INVALID",
      says: "certificate is not for istiod.istio-system.svc (root used: /etc/root.pem)",
    },
  ])("with $tlsCode says: $says", ({ tlsCode, says }) => {
    const failure = new GrpcError("UNAVAILABLE", "connection failed", { cause: tls(tlsCode) });
    expect(callFailure(failure, TARGET)).toMatchObject({ code: "untrusted", message: `CA at istiod:15012: ${says}` });
  });

  test("is found however deep its cause lies", () => {
    const deep = new Error("outer", { cause: new Error("middle", { cause: tls("CERT_HAS_EXPIRED") }) });
    const failure = new GrpcError("UNAVAILABLE", "connection failed", { cause: deep });
    expect(callFailure(failure, TARGET).code).toBe("untrusted");
  });

  test("is not assumed for other failures of the connection", () => {
    const failure = new GrpcError("UNAVAILABLE", "connection failed", { cause: tls("ECONNREFUSED") });
    expect(callFailure(failure, TARGET).code).toBe("unreachable");
  });
});

test("our own problem behind a failed connection keeps its code and gets the CA's name", () => {
  const own = new CaError("bad-config", "root.pem: no certificate in it");
  const reported = callFailure(new GrpcError("UNAVAILABLE", "connection failed", { cause: own }), TARGET);
  expect(reported).toMatchObject({ code: "bad-config", message: "CA at istiod:15012: root.pem: no certificate in it" });
});

test("causes that go round in a circle end the search", () => {
  const first = new Error("first");
  first.cause = new Error("second", { cause: first });
  expect(callFailure(new GrpcError("UNAVAILABLE", "lost", { cause: first }), TARGET).code).toBe("unreachable");
});
