import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { readInCluster } from "./in-cluster.ts";
import { kubeconfigPaths, parseForeignKubeconfig, readKubeconfig } from "./read-kubeconfig.ts";

const config = (more: object) => ({ apiVersion: "v1", kind: "Config", ...more });
const cluster = (name: string, members: object) => ({ name, cluster: members });
const user = (name: string, members: object) => ({ name, user: members });
const context = (name: string, members: object) => ({ name, context: members });
const SERVER = "https://10.0.0.1:6443";

test("of several files the first that names a cluster, user, context or current context counts", async () => {
  using folder = temporaryFolder();
  const first = folder.write(
    "first/config",
    config({
      "current-context": "a",
      clusters: [cluster("c", { server: SERVER, "certificate-authority": "ca.crt" })],
      contexts: [context("a", { cluster: "c", user: "u", namespace: "shop" })],
    }),
  );
  const second = folder.write(
    "second/config",
    config({
      "current-context": "b",
      clusters: [cluster("c", { server: "https://other" }), cluster("d", { server: "https://d" })],
      users: [user("u", { tokenFile: "token" })],
      contexts: [context("b", { cluster: "d" })],
    }),
  );
  const paths = [first, folder.file("missing"), second];
  expect(await readKubeconfig({ paths })).toEqual({
    name: "a",
    server: new URL(SERVER),
    ca: { file: folder.file("first/ca.crt") },
    isInsecure: false,
    namespace: "shop",
    user: { token: { file: folder.file("second/token") } },
  });
  expect(await readKubeconfig({ paths, context: "b" })).toMatchObject({ name: "b", namespace: "default", user: {} });
});

test("every way to say who asks is read, inline data before files", async () => {
  using folder = temporaryFolder();
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "./plugin",
    args: ["get"],
    env: [{ name: "A", value: "b" }],
    installHint: "install it",
    provideClusterInfo: true,
  };
  const path = folder.write(
    "config",
    config({
      "current-context": "a",
      clusters: [
        cluster("c", {
          server: SERVER,
          "tls-server-name": "kubernetes",
          "insecure-skip-tls-verify": true,
          "proxy-url": "http://user:secret@proxy:3128",
          "certificate-authority-data": Buffer.from("ca").toString("base64"),
        }),
      ],
      users: [
        user("u", {
          "client-certificate-data": Buffer.from("cert").toString("base64"),
          "client-certificate": "unused.crt",
          "client-key": "user.key",
          username: "admin",
          password: "hidden",
          as: "other",
          "as-uid": "7",
          "as-groups": ["g"],
          "as-user-extra": { scopes: ["x", "y"] },
          exec,
        }),
      ],
      contexts: [context("a", { cluster: "c", user: "u" })],
    }),
  );
  const access = await readKubeconfig({ paths: [path] });
  expect(access).toMatchObject({ serverName: "kubernetes", isInsecure: true });
  expect(access.proxyUrl?.reveal()).toBe("http://user:secret@proxy:3128");
  expect(access.user).toMatchObject({
    clientKey: { file: folder.file("user.key") },
    basic: { user: "admin" },
    impersonate: { user: "other", uid: "7", groups: ["g"], extra: { scopes: ["x", "y"] } },
    exec: { command: folder.file("plugin"), args: ["get"], env: { A: "b" }, provideClusterInfo: true },
  });
  const certificate = access.user.clientCertificate;
  expect(certificate !== undefined && "text" in certificate && certificate.text.reveal()).toBe("cert");
  expect(JSON.stringify(access)).not.toMatch(/secret|hidden/);
});

const broken = (more: object) =>
  config({
    "current-context": "a",
    clusters: [cluster("c", { server: SERVER })],
    users: [user("u", {})],
    contexts: [context("a", { cluster: "c", user: "u" })],
    ...more,
  });

test.each([
  {
    what: "no current context",
    file: broken({ "current-context": "" }),
    says: /no current-context; its contexts are a$/,
  },
  { what: "an unknown context", file: broken({ "current-context": "b" }), says: /no context "b"; its contexts are a$/ },
  { what: "an unknown user", file: broken({ users: [] }), says: /no user "u"; it has no users$/ },
  { what: "a server without a scheme", file: broken({ clusters: [cluster("c", { server: "x:1" })] }), says: /"x:1"/ },
  { what: "clusters that are not a list", file: broken({ clusters: {} }), says: /clusters is not a list/ },
  { what: "an auth provider", file: broken({ users: [user("u", { "auth-provider": {} })] }), says: /use exec/ },
  {
    what: "a plugin of an unknown version",
    file: broken({ users: [user("u", { exec: { apiVersion: "v0", command: "x" } })] }),
    says: /"v0" is not one of client\.authentication/,
  },
  {
    what: "a plugin that wants a terminal",
    file: broken({
      users: [
        user("u", {
          exec: { apiVersion: "client.authentication.k8s.io/v1", command: "x", interactiveMode: "Always" },
        }),
      ],
    }),
    says: /wants a terminal/,
  },
  { what: "text that is not YAML", file: "a: [", says: /is not YAML/ },
])("$what is refused with what is wrong", async ({ file, says }) => {
  using folder = temporaryFolder();
  const reading = readKubeconfig({ paths: [folder.write("config", file)] });
  await expect(reading).rejects.toMatchObject({ code: "invalid-config", message: expect.stringMatching(says) });
});

test("a single file that is missing is an error, and so is a list of nothing but missing ones", async () => {
  await expect(readKubeconfig({ paths: ["/nonexistent/a"] })).rejects.toThrow("/nonexistent/a");
  await expect(readKubeconfig({ paths: ["/nonexistent/a", "/nonexistent/b"] })).rejects.toThrow("do not exist");
});

test("KUBECONFIG names files, else the home folder does", () => {
  expect(kubeconfigPaths({ KUBECONFIG: "/a::/b", HOME: "/h" })).toEqual(["/a", "/b"]);
  expect(kubeconfigPaths({ HOME: "/h" })).toEqual(["/h/.kube/config"]);
  expect(kubeconfigPaths({})).toEqual([]);
});

test("in a pod its account, its namespace and the cluster's address are taken", async () => {
  using folder = temporaryFolder({ files: { namespace: "shop\n", token: "t" } });
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
  expect(await readInCluster(env, folder.path)).toMatchObject({
    server: new URL("https://[fd00::1]:443"),
    namespace: "shop",
    ca: { file: folder.file("ca.crt") },
    user: { token: { file: folder.file("token") } },
  });
  await expect(readInCluster({}, folder.path)).rejects.toMatchObject({ code: "invalid-config" });
});

describe("a kubeconfig that another party wrote", () => {
  const foreign = (own: object) =>
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server: "https://east:6443" } }],
      users: [{ name: "u", user: own }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    });
  const read = (own: object, allowed: readonly string[] = []) =>
    parseForeignKubeconfig(foreign(own), { source: "Secret s/remote, key east", allowed });
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "helper" };

  test("is read where it brings its credentials with it", async () => {
    expect(await read({ token: "t" })).toMatchObject({ name: "x", server: new URL("https://east:6443") });
  });

  test.each([
    { own: { exec }, member: "exec", option: "exec" },
    { own: { tokenFile: "/etc/shadow" }, member: "tokenFile", option: "tokenFile" },
    { own: { "client-certificate": "/a" }, member: "client-certificate", option: "clientCertificate" },
    { own: { "client-key": "/a" }, member: "client-key", option: "clientKey" },
  ])("may not use $member of this machine unless it is allowed", async ({ own, member, option }) => {
    await expect(read(own)).rejects.toMatchObject({
      code: "invalid-config",
      message: expect.stringMatching(
        new RegExp(`Secret s/remote, key east: user u has ${member}, which is not allowed.*add ${option}\\)$`),
      ),
    });
    await expect(read(own, [option])).resolves.toBeDefined();
  });

  test.each(["", "a: ["])("that is %j is refused without its text", async (text) => {
    const reading = parseForeignKubeconfig(text, { source: "Secret s/remote, key east", allowed: [] });
    await expect(reading).rejects.toThrow(/Secret s\/remote, key east is (empty|not YAML)/);
  });
});
