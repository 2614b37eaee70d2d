import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleProgram } from "../process/bundle-program.ts";

export interface WorkerBundle extends AsyncDisposable {
  readonly url: URL;
}

/** The DNS thread's program as workers can load it: they know nothing of the test runner's compiler. */
export async function bundleDnsWorker(): Promise<WorkerBundle> {
  const folder = await mkdtemp(join(tmpdir(), "dns-worker-"));
  const outfile = join(folder, "worker.mjs");
  await bundleProgram("test/support/dns/crashable-worker.ts", { outfile });
  return { url: pathToFileURL(outfile), [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

/** The whole server, bundled into chunks as the package is, with a resolv.conf beside it. */
export async function bundleDnsServer(): Promise<WorkerBundle & { readonly resolvConfPath: string }> {
  const folder = await mkdtemp(join(tmpdir(), "dns-server-"));
  await bundleProgram("src/dns/index.ts", {
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    chunkNames: "chunks/[name]-[hash]",
    splitting: true,
  });
  const resolvConfPath = join(folder, "resolv.conf");
  await writeFile(resolvConfPath, "nameserver 127.0.0.1\n");
  const close = () => rm(folder, { recursive: true });
  return { url: pathToFileURL(join(folder, "index.mjs")), resolvConfPath, [Symbol.asyncDispose]: close };
}
