import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "../../../src/base/logger.ts";
import { silentLogger } from "../../../src/base/logger.ts";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import { FALLBACK_RULES } from "../../../src/wasm/core/generations.ts";
import { declareWasmMetrics } from "../../../src/wasm/metrics.ts";
import type { WasmConverter, WasmOptions } from "../../../src/wasm/options.ts";
import { startWasmConverter } from "../../../src/wasm/start-wasm-converter.ts";
import { decodeExtensions, extensionResponse, remoteExtension, type WasmResource } from "../wasm/resources.ts";

export interface TestConverter extends AsyncDisposable {
  readonly converter: WasmConverter;
  readonly directory: string;
  /** Error lines of the log, with their reason. */
  readonly errors: string[];
  metrics(): string;
  /** The file that one filter is given, or "allow" or "deny". */
  load(resource: Omit<WasmResource, "name"> & { readonly name?: string }): Promise<string>;
  /** The same; for a failure the reason in the log. */
  reason(resource: Omit<WasmResource, "name">): Promise<string>;
}

/** The converter as the agent starts it, with a folder of its own. */
export async function startTestConverter(
  { ca, ...options }: Partial<WasmOptions> & { readonly ca?: string } = {},
  directory = mkdtempSync(join(tmpdir(), "wasm-")),
): Promise<TestConverter> {
  const rootsFile = ca === undefined ? undefined : join(directory, "roots.pem");
  if (rootsFile !== undefined) writeFileSync(rootsFile, ca ?? "");
  const registry = new MetricRegistry();
  const errors: string[] = [];
  const log: Logger = {
    ...silentLogger,
    error: (message: string) => void errors.push(message),
  };
  const converter = await startWasmConverter({
    directory,
    insecureRegistries: [],
    moduleExpiryMs: 0,
    purgeIntervalMs: 0,
    requestTimeoutMs: 15_000,
    maxRetries: 1,
    maxModuleBytes: 1024 * 1024,
    blockedCidrs: [],
    rules: FALLBACK_RULES.master,
    rootsFile,
    metrics: declareWasmMetrics(registry),
    log,
    ...options,
  });
  const stream = new AbortController();
  const load: TestConverter["load"] = async (resource) => {
    const message = extensionResponse("sotw", [remoteExtension({ name: "plugin", ...resource })]);
    const result = await converter.convert({ kind: "sotw", message }, stream.signal);
    if ("refusal" in result) throw new Error(result.refusal);
    const [found] = decodeExtensions("sotw", result.message);
    return loaded(found?.config);
  };
  return {
    converter,
    directory,
    errors,
    metrics: () => registry.render(),
    load,
    async reason(resource) {
      const before = errors.length;
      const outcome = await load(resource);
      if (outcome !== "deny") throw new Error(`the module was there: ${outcome}`);
      return errors.slice(before).join("\n");
    },
    async [Symbol.asyncDispose]() {
      stream.abort();
      await converter.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface Loaded {
  readonly rules?: object;
  readonly config?: { readonly vm_config?: { readonly code?: { readonly local?: { readonly filename?: string } } } };
}

function loaded(config: Loaded | undefined): string {
  const filename = config?.config?.vm_config?.code?.local?.filename;
  if (filename !== undefined) return filename;
  return config?.rules === undefined ? "allow" : "deny";
}
