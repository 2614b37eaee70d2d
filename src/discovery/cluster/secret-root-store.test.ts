import { expect, test } from "vitest";
import { CodedError } from "../../base/coded-error.ts";
import { Secret } from "../../base/secret.ts";
import type { ApiObject } from "../../kubernetes/index.ts";
import type { ClusterApi } from "./cluster-api.ts";
import { createSecretRootStore } from "./secret-root-store.ts";

const ROOT = { certificate: "certificate", key: new Secret("key") };

class ApiError extends CodedError<"not-found" | "already-exists"> {}

/** Secrets of one namespace; undefined: the namespace is missing. */
const api = (secrets: Map<string, ApiObject> | undefined): ClusterApi => {
  const find = async (name: string) => {
    const found = secrets?.get(name);
    if (found === undefined) throw new ApiError("not-found", `no ${name}`);
    return found;
  };
  return {
    get: (_, name) => find(name),
    create: async (_, object) => {
      const secret = object as ApiObject;
      if (secrets === undefined) throw new ApiError("not-found", "no namespace");
      if (secrets.has(secret.metadata.name)) throw new ApiError("already-exists", "there is one");
      secrets.set(secret.metadata.name, secret);
      return secret;
    },
    update: async (_, object) => object,
    delete: async () => undefined,
    patch: async (_, name, body) => {
      const before = await find(name);
      const after = { ...before, data: { ...(before.data as object), ...(body as { data: object }).data } };
      secrets?.set(name, after);
      return after;
    },
  };
};

const open = (secrets: Map<string, ApiObject> | undefined, names: readonly [string, ...string[]]) =>
  createSecretRootStore({ api: api(secrets), namespace: "mesh", names });

test("a root that another replica has stored meanwhile is the one that counts", async () => {
  const secrets = new Map<string, ApiObject>();
  const [first, second] = [open(secrets, ["istio-ca-secret"]), open(secrets, ["istio-ca-secret"])];
  expect(await first.read()).toBeUndefined();
  await first.create(ROOT);
  const other = await second.create({ certificate: "late", key: new Secret("late") });
  expect([other.certificate, other.key.reveal()]).toEqual(["certificate", "key"]);
});

test("a renewed certificate is stored where the root was found, with the marker of its own CA in cacerts", async () => {
  const secrets = new Map<string, ApiObject>();
  const store = open(secrets, ["istio-ca-secret", "cacerts"]);
  await store.create(ROOT);
  expect([...secrets.keys()]).toEqual(["cacerts"]);
  expect(secrets.get("cacerts")?.data).toHaveProperty("istio-generated");
  await store.replace({ ...ROOT, certificate: "renewed" });
  expect((await store.read())?.certificate).toBe("renewed");
});

test("a namespace that is missing, and a Secret without its key, are named with what to do", async () => {
  await expect(open(undefined, ["istio-ca-secret"]).create(ROOT)).rejects.toThrow(
    "namespace mesh, where the mesh's root is stored, does not exist: create it, or name another with --namespace",
  );
  const broken = new Map([["istio-ca-secret", { metadata: { name: "istio-ca-secret" }, data: {} }]]);
  await expect(open(broken, ["istio-ca-secret"]).read()).rejects.toThrow(
    "Secret mesh/istio-ca-secret has no ca-cert.pem: restore it, or delete the Secret for a new root",
  );
});
