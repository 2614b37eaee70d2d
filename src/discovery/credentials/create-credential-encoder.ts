import { encodeResource } from "../../envoy-config/index.ts";
import type { EncodedResource } from "../../xds/resource-source.ts";
import { type CredentialReading, readKeyPair, readRoots } from "./core/read-credential.ts";
import type { StoredCredential } from "./create-credential-table.ts";

type EncodedCredential =
  | { readonly resource: EncodedResource; readonly warning?: string | undefined }
  | { readonly problem: string };

/** Checks and encodes a credential once for all who are sent it. What is made goes with the stored value. */
export function createCredentialEncoder(
  now: () => number,
): (name: string, stored: StoredCredential, isRoots: boolean) => EncodedCredential {
  const readings = new WeakMap<StoredCredential, Map<"roots" | "pair", CredentialReading>>();
  const encoded = new WeakMap<StoredCredential, Map<string, EncodedResource>>();
  return (name, stored, isRoots) => {
    const known = readings.get(stored) ?? new Map<"roots" | "pair", CredentialReading>();
    readings.set(stored, known);
    const form = isRoots ? "roots" : "pair";
    const reading = known.get(form) ?? readStored(stored, isRoots, now());
    known.set(form, reading);
    if ("problem" in reading) return reading;
    const made = encoded.get(stored) ?? new Map<string, EncodedResource>();
    encoded.set(stored, made);
    const type = "envoy.extensions.transport_sockets.tls.v3.Secret";
    const resource = made.get(name) ?? encodeResource(type, name, { name, ...reading.message });
    made.set(name, resource);
    return { resource, warning: reading.warning };
  };
}

/** Without a pair of its own a Secret may be one of roots alone, named as it is. */
function readStored(stored: StoredCredential, isRoots: boolean, now: number): CredentialReading {
  const data = stored.reveal();
  if (isRoots) return readRoots(data, now);
  const pair = readKeyPair(data, now);
  const hasPair = ["cert", "key", "tls.crt", "tls.key"].some((key) => data[key] !== undefined);
  if (!("problem" in pair) || hasPair) return pair;
  const roots = readRoots(data, now);
  return "problem" in roots ? pair : roots;
}
