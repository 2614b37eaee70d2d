import { join } from "node:path";
import { errorCode } from "../../base/coded-error.ts";
import { isMissingFile, readTextLimited } from "../../files/read-file.ts";
import { CaMaterialError } from "../ca-server-error.ts";
import type { MaterialTexts } from "../core/signing-material.ts";

/** Written beside a root that this program made itself: such a directory is not a plugged-in CA. */
export const GENERATED_MARKER = "istio-generated";

/** The CA that an operator put into the directory; undefined when there is none. A part of one is an error. */
export async function readPluggedIn(directory: string): Promise<MaterialTexts | undefined> {
  const read = (name: string) => readText(join(directory, name));
  if ((await read(GENERATED_MARKER)) !== undefined) return undefined;
  const issued = await read("tls.crt");
  // The form of certificate managers: one secret with tls.crt, tls.key and ca.crt.
  if (issued !== undefined) return fromIssuedSecret(directory, issued, await read("tls.key"), await read("ca.crt"));
  const names = ["ca-cert.pem", "ca-key.pem", "root-cert.pem", "cert-chain.pem"] as const;
  const [certificate, key, root, chain] = await Promise.all(names.map(read));
  if (certificate !== undefined && key !== undefined && root !== undefined && chain !== undefined) {
    return { certificate, key, root, chain, crl: await read("ca-crl.pem") };
  }
  const missing = names.filter((_, index) => [certificate, key, root, chain][index] === undefined);
  if (missing.length === names.length) return undefined;
  throw incomplete(directory, missing);
}

function fromIssuedSecret(
  directory: string,
  certificate: string,
  key: string | undefined,
  root: string | undefined,
): MaterialTexts {
  if (key !== undefined && root !== undefined) return { certificate, key, root, chain: `${certificate}\n${root}` };
  const missing = [...(key === undefined ? ["tls.key"] : []), ...(root === undefined ? ["ca.crt"] : [])];
  throw incomplete(directory, missing);
}

function incomplete(directory: string, missing: readonly string[]): CaMaterialError {
  const text = `incomplete signing CA bundle detected in ${directory}: missing ${missing.join(", ")}`;
  return new CaMaterialError("incomplete-bundle", text);
}

/** The file's text, undefined when there is no such file; other failures name the file. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readTextLimited(path);
  } catch (cause) {
    if (isMissingFile(cause)) return undefined;
    throw new CaMaterialError("unreadable", `cannot read ${path}: ${errorCode(cause)}`, { cause });
  }
}
