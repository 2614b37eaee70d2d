import { expect, test } from "vitest";
import { Metadata } from "../../grpc/index.ts";
import type { AuthRequest } from "./authenticator.ts";
import { createTokenReviewAuthenticator, type TokenReviewStatus } from "./token-review.ts";

const NOW = 1_000_000_000_000;
const { signal } = new AbortController();

const jwt = (claims: object) =>
  ["{}", JSON.stringify(claims), "x"].map((part) => Buffer.from(part).toString("base64url")).join(".");

const call = (token: string, clusterId?: string): AuthRequest => {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  if (clusterId !== undefined) metadata.set("clusterid", clusterId);
  return { peer: { address: "10.0.0.1:1" } as AuthRequest["peer"], metadata };
};

const GOOD: TokenReviewStatus = {
  authenticated: true,
  user: {
    username: "system:serviceaccount:prod:web",
    groups: ["system:serviceaccounts", "system:serviceaccounts:prod"],
    extra: {
      "authentication.kubernetes.io/pod-name": ["web-1"],
      "authentication.kubernetes.io/pod-uid": ["u1"],
    },
  },
};

const setup = (status: TokenReviewStatus | Error) => {
  const asked: string[] = [];
  let time = NOW;
  const authenticator = createTokenReviewAuthenticator({
    audiences: ["istio-ca"],
    trustDomain: () => "me@td",
    clusters: () => ["own"],
    now: () => time,
    reviewerOf: (clusterId) =>
      clusterId === "" || clusterId === "own"
        ? {
            review: async (_token, audiences) => {
              asked.push(audiences.join(","));
              if (status instanceof Error) throw status;
              return status;
            },
          }
        : undefined,
  });
  return {
    authenticator,
    asked,
    pass: (ms: number) => {
      time += ms;
    },
  };
};

test("a confirmed token is the identity of its service account, with the pod it is bound to", async () => {
  const { authenticator, asked } = setup(GOOD);
  expect(await authenticator.authenticate(call("t", "own"), signal)).toEqual({
    identities: ["spiffe://me.td/ns/prod/sa/web"],
    source: "KubeJWTAuthenticator",
    pod: { name: "web-1", uid: "u1" },
    clusterId: "own",
  });
  expect(asked).toEqual(["istio-ca"]);
});

test.each([
  { status: { error: "expired" }, says: "the service account authentication returns an error: expired" },
  { status: {}, says: "the token is not authenticated" },
  {
    status: { ...GOOD, user: { ...GOOD.user, groups: ["system:masters"] } },
    says: "the token is not a service account",
  },
  { status: { ...GOOD, user: { ...GOOD.user, username: "a:b" } }, says: "invalid username field" },
])("$says", async ({ status, says }) => {
  await expect(setup(status).authenticator.authenticate(call("t"), signal)).rejects.toMatchObject({
    code: "refused",
    message: expect.stringContaining(says),
  });
});

test("an API server that fails is another reason than a token that is refused", async () => {
  const { authenticator } = setup(new Error("connection refused"));
  const failure = authenticator.authenticate(call("t"), signal);
  await expect(failure).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("connection refused"),
  });
});

test("a caller of an unknown cluster is refused with the clusters that are known", async () => {
  const { authenticator, asked } = setup(GOOD);
  await expect(authenticator.authenticate(call("t", "far"), signal)).rejects.toThrow(
    'client claims to be in cluster "far", but we only know about own',
  );
  expect(asked).toEqual([]);
});

test("a result counts for five seconds, no longer than the token, and never for another token", async () => {
  const { authenticator, asked, pass } = setup(GOOD);
  const token = jwt({ exp: NOW / 1000 + 6 });
  for (let times = 0; times < 3; times += 1) await authenticator.authenticate(call(token), signal);
  expect(asked).toHaveLength(1);
  pass(5000);
  await authenticator.authenticate(call(token), signal);
  expect(asked).toHaveLength(2);
  // One second of the token's life is left.
  pass(1000);
  await authenticator.authenticate(call(token), signal);
  expect(asked).toHaveLength(3);
  await authenticator.authenticate(call(jwt({ exp: NOW / 1000 + 60, sub: "other" })), signal);
  expect(asked).toHaveLength(4);
});
