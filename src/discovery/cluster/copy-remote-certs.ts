import { join } from "node:path";
import { errorCode } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { readPluggedIn } from "../../ca/index.ts";
import { makeDirectory } from "../../files/make-directory.ts";
import { replaceFile } from "../../files/replace-file.ts";
import { fields, textOf } from "../../mesh-model/kubernetes-object.ts";
import type { ClusterApi } from "./cluster-api.ts";

export interface RemoteCertsOptions {
  readonly api: ClusterApi;
  readonly namespace: string;
  /** Where the CA is looked for. */
  readonly directory: string;
  readonly log: Logger;
}

const SECRET = "cacerts";

/**
 * Puts the CA of Secret `cacerts` into the directory, unless a whole one is there: for a control plane that runs outside of the cluster and
 * cannot mount it.
 */
export async function copyRemoteCerts({ api, namespace, directory, log }: RemoteCertsOptions): Promise<void> {
  const local = await readPluggedIn(directory).catch(() => undefined);
  if (local !== undefined) return;
  const resource = { group: "", version: "v1", plural: "secrets", namespace };
  const secret = await api.get(resource, SECRET).catch((failure: unknown) => {
    if (errorCode(failure) !== "not-found") throw failure;
    return undefined;
  });
  if (secret === undefined) {
    log.info("there is no CA to copy", { secret: `${namespace}/${SECRET}` });
    return;
  }
  await makeDirectory(directory, 0o700);
  const files = Object.entries(fields(secret.data));
  for (const [name, data] of files) {
    await replaceFile(join(directory, name), Buffer.from(textOf(data), "base64"), { mode: 0o600 });
  }
  log.info("the CA of the cluster is copied", { secret: `${namespace}/${SECRET}`, directory, files: files.length });
}
