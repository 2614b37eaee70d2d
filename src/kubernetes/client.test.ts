import { expect, test } from "vitest";
import { makeCertificate } from "../../test/support/certs/certificates.ts";
import { temporaryFolder } from "../../test/support/files/temporary-folder.ts";
import { THINGS } from "../../test/support/kubernetes/reflect.ts";
import { type ScriptedRequest, startScriptedApiServer } from "../../test/support/kubernetes/scripted-api-server.ts";
import { startConnectProxy } from "../../test/support/net/connect-proxy.ts";
import { CloseStack } from "../base/close-stack.ts";
import { Secret } from "../base/secret.ts";
import type { ClusterAccess } from "./access/cluster-access.ts";
import { createKubernetesClient } from "./client.ts";

const object = { apiVersion: "test.example/v1", kind: "Thing", metadata: { name: "a", resourceVersion: "1" } };

/** A server that answers each request with the same object and records what it saw. */
async function serve(opened: CloseStack, protocol: "h2" | "http/1.1" | "plain" = "h2") {
  const seen: (Pick<ScriptedRequest, "method" | "headers" | "httpVersion" | "clientName"> & { body: string })[] = [];
  const server = opened.add(
    await startScriptedApiServer(
      async (request) => {
        const { method, headers, httpVersion, clientName } = request;
        seen.push({ method, headers, httpVersion, clientName, body: await request.body() });
        request.answer(200, object);
      },
      { protocol },
    ),
  );
  return { server, seen };
}

const clientOf = (opened: CloseStack, access: ClusterAccess, env: NodeJS.ProcessEnv = process.env) =>
  opened.add(createKubernetesClient({ access, env, timeoutMs: 10_000 }));

test.each([
  { protocol: "h2", version: "2.0" },
  { protocol: "http/1.1", version: "1.1" },
  { protocol: "plain", version: "1.1" },
] as const)(
  "requests, many at a time, are made by $protocol where the server speaks it",
  async ({ protocol, version }) => {
    await using opened = new CloseStack();
    const { server, seen } = await serve(opened, protocol);
    const client = clientOf(opened, server.access);
    const all = await Promise.all(Array.from({ length: 20 }, () => client.get(THINGS, "a")));
    expect(all).toEqual(all.map(() => object));
    expect(new Set(seen.map(({ httpVersion }) => httpVersion))).toEqual(new Set([version]));
  },
);

test("verbs have their methods, paths, content types and options", async () => {
  await using opened = new CloseStack();
  const { server, seen } = await serve(opened);
  const client = clientOf(opened, server.access);
  const resource = { ...THINGS, namespace: "shop" };
  await client.create(resource, object, { isDryRun: true });
  await client.create({ ...resource, plural: "accounts" }, {}, { name: "a", subresource: "token" });
  await client.update(resource, object, { subresource: "status" });
  await client.patch(resource, "a", { spec: 1 }, { type: "merge" });
  await client.patch(resource, "a", [{ op: "test" }], { type: "json" });
  await client.patch(resource, "a", object, { type: "apply", fieldManager: "me", isForced: true });
  await client.delete(resource, "a", { uid: "u" });
  const root = "/apis/test.example/v1/namespaces/shop";
  expect(server.asked).toEqual([
    `POST ${root}/things?dryRun=All`,
    `POST ${root}/accounts/a/token`,
    `PUT ${root}/things/a/status`,
    `PATCH ${root}/things/a`,
    `PATCH ${root}/things/a`,
    `PATCH ${root}/things/a?fieldManager=me&force=true`,
    `DELETE ${root}/things/a`,
  ]);
  expect(seen.slice(3, 6).map(({ headers }) => headers["content-type"])).toEqual([
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
  ]);
  expect(JSON.parse(seen.at(-1)?.body ?? "")).toMatchObject({ preconditions: { uid: "u" } });
});

test.each([
  { status: 403, reason: "Forbidden", code: "forbidden" },
  { status: 404, reason: "NotFound", code: "not-found" },
  { status: 409, reason: "Conflict", code: "conflict" },
  { status: 409, reason: "AlreadyExists", code: "already-exists" },
  { status: 410, reason: "Expired", code: "gone" },
  { status: 429, reason: "TooManyRequests", code: "too-many-requests" },
  { status: 500, reason: "InternalError", code: "server-error" },
])(
  "an answer of $status $reason is the error $code, which names verb and resource",
  async ({ status, reason, code }) => {
    await using opened = new CloseStack();
    const body = { kind: "Status", code: status, reason, message: "because" };
    const server = opened.add(
      await startScriptedApiServer((request) => request.answer(status, body, { "retry-after": "2" })),
    );
    const failing = clientOf(opened, server.access).list({ ...THINGS, namespace: "shop" });
    await expect(failing).rejects.toMatchObject({
      code,
      status,
      retryAfterMs: 2000,
      message: `cannot list things.test.example in namespace shop: ${status} ${reason}: because`,
    });
  },
);

test("a token file that was replaced is read again when the server refuses the old token", async () => {
  await using opened = new CloseStack();
  using folder = temporaryFolder({ files: { token: "old\n" } });
  let valid = "Bearer old";
  const server = opened.add(
    await startScriptedApiServer((request) =>
      request.headers.authorization === valid ? request.answer(200, object) : request.answer(401, { kind: "Status" }),
    ),
  );
  const client = clientOf(opened, { ...server.access, user: { token: { file: folder.file("token") } } });
  await client.get(THINGS, "a");
  folder.write("token", "new");
  valid = "Bearer new";
  await client.get(THINGS, "a");
  expect(server.asked).toHaveLength(3);
  valid = "Bearer other";
  await expect(client.get(THINGS, "a")).rejects.toMatchObject({ code: "unauthorized" });
});

test("a credential plugin runs once for many requests, and again when its token is about to expire", async () => {
  await using opened = new CloseStack();
  using folder = temporaryFolder();
  const script = `
    const fs = require("node:fs");
    const count = fs.existsSync(process.argv[2]) ? Number(fs.readFileSync(process.argv[2], "utf8")) + 1 : 1;
    fs.writeFileSync(process.argv[2], String(count));
    const { apiVersion, spec } = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
    const expirationTimestamp = new Date(Date.now() + (count === 1 ? 5000 : 3600000)).toISOString();
    const status = { token: process.env.PREFIX + count + new URL(spec.cluster.server).protocol, expirationTimestamp };
    console.log(JSON.stringify({ kind: "ExecCredential", apiVersion, status }));`;
  const plugin = folder.write("plugin.cjs", script);
  const { server, seen } = await serve(opened);
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: process.execPath,
    args: [plugin, folder.file("count")],
    env: { PREFIX: "token-" },
    installHint: "install it",
    provideClusterInfo: true,
  };
  const client = clientOf(opened, { ...server.access, user: { exec } });
  await Promise.all([client.get(THINGS, "a"), client.get(THINGS, "a")]);
  await client.get(THINGS, "a");
  await client.get(THINGS, "a");
  expect(seen.map(({ headers }) => headers.authorization)).toEqual([
    "Bearer token-1https:",
    "Bearer token-1https:",
    "Bearer token-2https:",
    "Bearer token-2https:",
  ]);
});

test.each([
  { what: "is missing", command: "/nonexistent/plugin", args: [], says: /nonexistent\/plugin.*; install it$/ },
  {
    what: "fails",
    command: process.execPath,
    args: ["-e", "console.error('no login'); process.exit(3)"],
    says: /no login/,
  },
  {
    what: "prints something else",
    command: process.execPath,
    args: ["-p", "'secret'"],
    says: /its output is not JSON/,
  },
])("a credential plugin that $what is an error that says so, without its output", async ({ command, args, says }) => {
  await using opened = new CloseStack();
  const { server } = await serve(opened);
  const apiVersion = "client.authentication.k8s.io/v1";
  const exec = { apiVersion, command, args, env: {}, installHint: "install it", provideClusterInfo: false };
  const failing = clientOf(opened, { ...server.access, user: { exec } }).get(THINGS, "a");
  await expect(failing).rejects.toMatchObject({ code: "no-credentials", message: expect.stringMatching(says) });
});

test("impersonation, basic login and a client certificate reach the server", async () => {
  await using opened = new CloseStack();
  const { server, seen } = await serve(opened);
  if (server.ca === undefined) throw new Error("no CA");
  const own = await makeCertificate({ by: server.ca, isCa: false, commonName: "tester" });
  const user = {
    basic: { user: "me", password: new Secret("pw") },
    clientCertificate: { text: new Secret(own.pem) },
    clientKey: { text: new Secret(own.keyPem) },
    impersonate: { user: "other", groups: ["g", "h"], extra: { "a/b": ["x"] } },
  };
  await clientOf(opened, { ...server.access, user }).get(THINGS, "a");
  expect(seen[0]).toMatchObject({
    clientName: "tester",
    headers: {
      authorization: `Basic ${Buffer.from("me:pw").toString("base64")}`,
      "impersonate-user": "other",
      "impersonate-group": "g, h",
      "impersonate-extra-a%2fb": "x",
    },
  });
});

test("the server's certificate must be trusted and for the right name, unless verification is off", async () => {
  await using opened = new CloseStack();
  const { server } = await serve(opened);
  const { ca: _, ...unknown } = server.access;
  await expect(clientOf(opened, unknown).get(THINGS, "a")).rejects.toMatchObject({ code: "unreachable" });
  await expect(clientOf(opened, { ...server.access, serverName: "other.test" }).get(THINGS, "a")).rejects.toThrow(
    "other.test",
  );
  await clientOf(opened, { ...server.access, serverName: "kubernetes.test" }).get(THINGS, "a");
  await clientOf(opened, { ...unknown, isInsecure: true }).get(THINGS, "a");
});

test("an answer that never comes, a stop and a closed port are errors with codes of their own", async () => {
  await using opened = new CloseStack();
  const server = opened.add(await startScriptedApiServer(() => undefined));
  const quick = opened.add(createKubernetesClient({ access: server.access, env: {}, timeoutMs: 100 }));
  await expect(quick.get(THINGS, "a")).rejects.toMatchObject({ code: "timeout" });
  const cancelled = new AbortController();
  const waiting = clientOf(opened, server.access).get(THINGS, "a", cancelled.signal);
  cancelled.abort();
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  const closed = { ...server.access, server: new URL("https://127.0.0.1:1") };
  await expect(clientOf(opened, closed).get(THINGS, "a")).rejects.toMatchObject({ code: "unreachable" });
});

test("a cluster's proxy is passed through with its login, with TLS up to the server", async () => {
  await using opened = new CloseStack();
  const { server, seen } = await serve(opened);
  const proxy = opened.add(await startConnectProxy(server.access.server.host));
  const proxyUrl = new Secret(`http://me:pw@127.0.0.1:${proxy.port}`);
  await clientOf(opened, { ...server.access, proxyUrl }).get(THINGS, "a");
  expect(seen).toHaveLength(1);
  const login = `Basic ${Buffer.from("me:pw").toString("base64")}`;
  expect(proxy.asked).toEqual([{ target: server.access.server.host, login }]);
});
