import { access, readFile } from "node:fs/promises";
import { errorMessage } from "../base/coded-error.ts";
import type { ReadinessCheck } from "./readiness.ts";

interface GrpcBootstrap {
  readonly certificate_providers?: Readonly<
    Record<string, { readonly plugin_name?: string; readonly config?: Readonly<Record<string, unknown>> }>
  >;
}

const FILE_FIELDS = ["certificate_file", "private_key_file", "ca_certificate_file"] as const;

/** Ready when the proxyless bootstrap parses (looked at once) and the certificate files it names exist (looked at every time). */
export function grpcBootstrapCheck(path: string): ReadinessCheck {
  let files: readonly string[] | undefined;
  return async () => {
    try {
      files ??= certificateFiles(JSON.parse(await readFile(path, "utf8")) as GrpcBootstrap);
    } catch (thrown) {
      return `failed loading ${path}: ${errorMessage(thrown)}`;
    }
    for (const file of files) {
      const isThere = await access(file).then(
        () => true,
        () => false,
      );
      if (!isThere) return `${file} does not exist`;
    }
    return undefined;
  };
}

function certificateFiles(bootstrap: GrpcBootstrap): string[] {
  const providers = Object.values(bootstrap.certificate_providers ?? {});
  const watcher = providers.find((provider) => provider.plugin_name === "file_watcher");
  return FILE_FIELDS.flatMap((field) => {
    const file = watcher?.config?.[field];
    return typeof file === "string" ? [file] : [];
  });
}
