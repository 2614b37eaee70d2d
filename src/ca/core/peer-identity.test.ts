import { beforeAll, expect, test } from "vitest";
import { makeCertificate, type TestCertificate } from "../../../test/support/certs/certificates.ts";
import { parseCertificate } from "../../protocol/x509/certificate.ts";
import { peerProblem, type RootPools } from "../server-credentials.ts";

let root: TestCertificate;
let foreign: TestCertificate;
let pools: RootPools;
beforeAll(async () => {
  root = await makeCertificate({ organization: "td" });
  foreign = await makeCertificate({ organization: "foreign" });
  pools = new Map([
    ["td", [parseCertificate(root.der)]],
    ["foreign.td", [parseCertificate(foreign.der)]],
  ]);
});

const ID = "spiffe://td/ns/n/sa/s";

test.each([
  { what: "one SPIFFE URI of a known trust domain", hosts: [ID], problem: undefined },
  { what: "a URI and a DNS name", hosts: [ID, "web"], problem: undefined },
  { what: "no URI", hosts: ["web"], problem: "peer certificate does not contain 1 URI type SAN, detected 0" },
  { what: "two URIs", hosts: [ID, ID], problem: "peer certificate does not contain 1 URI type SAN, detected 2" },
  { what: "a URI that is not an identity", hosts: ["spiffe://td/x"], problem: "identity is not a spiffe format" },
  {
    what: "an unknown trust domain",
    hosts: ["spiffe://x/ns/n/sa/s"],
    problem: "no cert pool found for trust domain x",
  },
  {
    what: "another domain's root",
    hosts: ["spiffe://foreign.td/ns/n/sa/s"],
    problem: "certificate signed by unknown authority",
  },
])("a peer with $what: $problem", async ({ hosts, problem }) => {
  const leaf = await makeCertificate({ by: root, isCa: false, hosts });
  expect(peerProblem([leaf.der], pools, new Date())).toBe(problem);
});

test("intermediates that the peer sends are used", async () => {
  const middle = await makeCertificate({ organization: "middle", by: root });
  const leaf = await makeCertificate({ by: middle, isCa: false, hosts: [ID] });
  expect(peerProblem([leaf.der], pools, new Date())).toBe("certificate signed by unknown authority");
  expect(peerProblem([leaf.der, middle.der], pools, new Date())).toBeUndefined();
});

test("bytes that are not a certificate are a problem, not a throw", () => {
  expect(peerProblem([Buffer.from("x")], pools, new Date())).toBe("not an X.509 certificate");
  expect(peerProblem([], pools, new Date())).toBe("no peer certificate");
});
