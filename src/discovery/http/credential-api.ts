import type { CredentialDocument } from "../../istio-api/decode/decode-credential.ts";
import { type HttpAnswer, HttpError, json } from "../../net/http-server/http-types.ts";
import type { CredentialStore, CredentialTable, StoredCredential } from "../credentials/create-credential-table.ts";

export interface CredentialStores {
  readonly files: readonly CredentialStore[];
  readonly memory: CredentialTable;
}

export interface CredentialRef {
  readonly namespace: string;
  readonly name: string;
}

/** Secrets over the config API: they can be put, deleted and listed; what they hold is never shown. */
export const credentialApi = {
  list({ files, memory }: CredentialStores, namespace: string | null): readonly object[] {
    const keys = new Set([...files, memory].flatMap((store) => store.keys()));
    return [...keys]
      .filter((key) => namespace === null || key.startsWith(`${namespace}/`))
      .sort()
      .flatMap((key) => show({ files, memory }, key) ?? []);
  },
  get(stores: CredentialStores, { namespace, name }: CredentialRef): HttpAnswer {
    const shown = show(stores, `${namespace}/${name}`);
    if (shown === undefined) throw new HttpError(404, `there is no Secret/${namespace}/${name}`);
    return json(shown);
  },
  put(stores: CredentialStores, { namespace, name, data }: CredentialDocument, isDryRun: boolean): HttpAnswer {
    const key = `${namespace}/${name}`;
    refuseFile(stores, key, "change it there");
    const isNew = stores.memory.get(key) === undefined;
    if (isDryRun) return json({ object: describe(key, data ?? {}, "memory"), problems: [] });
    stores.memory.set(key, data);
    return json({ object: show(stores, key), problems: [] }, isNew ? 201 : 200);
  },
  remove(stores: CredentialStores, { namespace, name }: CredentialRef): HttpAnswer {
    const key = `${namespace}/${name}`;
    refuseFile(stores, key, "delete it there");
    if (stores.memory.get(key) === undefined) throw new HttpError(404, `there is no Secret/${key}`);
    stores.memory.set(key, undefined);
    return { status: 204, body: "" };
  },
};

function refuseFile({ files }: CredentialStores, key: string, advice: string): void {
  if (findIn(files, key) !== undefined) throw new HttpError(409, `Secret/${key} comes from a file: ${advice}`);
}

function findIn(stores: readonly CredentialStore[], key: string): StoredCredential | undefined {
  return stores.map((store) => store.get(key)).find((stored) => stored !== undefined);
}

function show({ files, memory }: CredentialStores, key: string): object | undefined {
  const file = findIn(files, key);
  const stored = file ?? memory.get(key);
  return stored && describe(key, stored.reveal(), file === undefined ? "memory" : "file");
}

function describe(key: string, data: Readonly<Record<string, string>>, origin: "file" | "memory"): object {
  const [namespace = "", name = ""] = key.split("/");
  const hidden = Object.fromEntries(Object.keys(data).map((member) => [member, "[redacted]"]));
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, data: hidden, origin };
}
