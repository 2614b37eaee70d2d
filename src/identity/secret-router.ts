import { parseResourceName, type ResourceName, TRUST_BUNDLE_NAME, WORKLOAD_NAME } from "./core/resource-name.ts";
import type { FileNameWatches } from "./file-name-watches.ts";
import type { FileName, FileSecrets } from "./files/file-secrets.ts";
import type { Listeners } from "./listeners.ts";
import { SecretError } from "./secret-error.ts";
import type { ServedSecret } from "./secrets.ts";
import type { WorkloadSecrets } from "./workload-secrets.ts";

export interface SecretRouterOptions {
  readonly workload: WorkloadSecrets;
  readonly files: FileSecrets;
  readonly fileWatches: FileNameWatches;
  readonly listeners: Listeners;
}

export interface SecretRouter {
  get(name: string, signal?: AbortSignal): Promise<ServedSecret>;
  onChange(name: string, listener: () => void): () => void;
}

/** From a name to whoever has the secret. */
export function createSecretRouter(options: SecretRouterOptions): SecretRouter {
  const { workload, files, fileWatches, listeners } = options;
  return {
    get: async (name, signal) => {
      const resource = parseResourceName(name);
      switch (resource.kind) {
        case "workload":
          return workload.keyPair(name, signal);
        case "trust-bundle":
          return workload.trustBundle(name, signal);
        case "unknown":
          throw unknownName(name, resource.file);
        default:
          return files.readWhenValid(name, resource, signal);
      }
    },
    onChange: (name, listener) => {
      const resource = parseResourceName(name);
      if (resource.kind === "unknown") return () => undefined;
      const key = resource.kind === "workload" ? WORKLOAD_NAME : name;
      // A wrapper of its own: one function may listen twice, and each time has to end separately.
      const own = () => listener();
      if (listeners.add(key, own) && isFile(resource)) fileWatches.add(key, resource);
      return () => {
        if (listeners.remove(key, own) && isFile(resource)) fileWatches.remove(key);
      };
    },
  };
}

function isFile(resource: ResourceName): resource is FileName {
  return resource.kind === "file-key-pair" || resource.kind === "file-root" || resource.kind === "system-root";
}

function unknownName(name: string, file: boolean): SecretError {
  const allowed = `${WORKLOAD_NAME}, ${TRUST_BUNDLE_NAME}, file-cert:CERT~KEY, file-root:PATH, file-root:system`;
  const what = file ? "malformed file resource name" : "unknown resource name";
  return new SecretError("unknown-name", `${what} ${JSON.stringify(name.slice(0, 256))}; this agent serves ${allowed}`);
}
