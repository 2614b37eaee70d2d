import { readFile, stat } from "node:fs/promises";
import { errorMessage } from "../base/coded-error.ts";
import type { Authority } from "../ca/index.ts";
import type { ServerCredentials, ServerTls } from "../grpc/index.ts";
import { DiscoveryError } from "./discovery-error.ts";
import type { ServingFiles } from "./options.ts";

interface Loaded {
  readonly stamp: string;
  readonly credentials: ServerCredentials;
}

/**
 * A serving certificate of somebody else's making, looked at for each connection and read again when its files changed. Clients may show
 * certificates of the given roots or of the own CA. Files that become unusable leave the last good ones in force.
 */
export function createFileTls(files: ServingFiles, authority: Pick<Authority, "material">): ServerTls {
  let loaded: Loaded | undefined;
  return async () => {
    try {
      const { rootPem } = authority.material;
      const stamp = `${await stampOf(files)} ${rootPem}`;
      if (loaded?.stamp !== stamp) loaded = { stamp, credentials: await load(files, rootPem) };
      return loaded.credentials;
    } catch (thrown) {
      if (loaded !== undefined) return loaded.credentials;
      const names = `--tlsCertFile ${files.certificate}, --tlsKeyFile ${files.key}, --caCertFile ${files.ca}`;
      throw new DiscoveryError("invalid-files", `serving certificate (${names}): ${errorMessage(thrown)}`, {
        cause: thrown,
      });
    }
  };
}

async function load(files: ServingFiles, rootPem: string): Promise<ServerCredentials> {
  const [cert, key, ca] = await Promise.all([
    readFile(files.certificate, "utf8"),
    readFile(files.key, "utf8"),
    readFile(files.ca, "utf8"),
  ]);
  return { key, cert, ca: [rootPem, ca], requestCert: true, rejectUnauthorized: false };
}

async function stampOf({ certificate, key, ca }: ServingFiles): Promise<string> {
  const found = await Promise.all([certificate, key, ca].map((path) => stat(path)));
  return found.map(({ mtimeMs, size, ino }) => `${mtimeMs}/${size}/${ino}`).join(" ");
}
