import { access } from "node:fs/promises";
import { errorCode, errorMessage } from "../base/coded-error.ts";
import type { ReadinessCheck } from "../base/readiness.ts";
import { readTextLimited } from "../files/read-file.ts";

/** What the check needs of Envoy's admin client. Rejects with code "timeout" when there is no answer in time. */
export interface LivenessSource {
  ready(): Promise<{ readonly isLive: boolean; readonly state: string }>;
}

const SILENT_LOOKS = 2;

/**
 * Objects to an Envoy that once was ready and now is drained, or alive without answering. One missed answer may be a busy moment; a
 * refused connection is not an objection, since the admin port moves between processes in a hot restart.
 */
export function envoyLivenessCheck(envoy: LivenessSource): ReadinessCheck {
  let silent = 0;
  return async () => {
    try {
      const { state } = await envoy.ready();
      silent = 0;
      return state === "DRAINING" ? "server is not live, current state is: DRAINING" : undefined;
    } catch (thrown) {
      silent = errorCode(thrown) === "timeout" ? silent + 1 : 0;
      return silent >= SILENT_LOOKS ? "Envoy does not answer on its admin port" : undefined;
    }
  };
}

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
      files ??= certificateFiles(JSON.parse(await readTextLimited(path)) as GrpcBootstrap);
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
