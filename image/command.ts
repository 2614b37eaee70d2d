import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { runProgram } from "../src/process/run-program.ts";
import { buildImage } from "./build-image.ts";

const USAGE = `npm run image -- [--output DIR] [--name HOST/NAME:TAG ...] [--envoy PATH] [--without-code-cache]`;
const ROOT = resolve(import.meta.dirname, "..");

/** As the charts of deploy/ name it. */
const DEFAULT_NAME = `localhost/pilot-agent:${JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version}`;

/** Returns the exit code. */
export async function runCommand(words: readonly string[]): Promise<number> {
  const values = parseWords(words);
  if (values === undefined) return 2;
  const epoch = process.env.SOURCE_DATE_EPOCH || "0";
  if (!/^\d{1,10}$/.test(epoch)) {
    console.error(`SOURCE_DATE_EPOCH=${epoch}: seconds since 1970 are allowed`);
    return 2;
  }
  const output = resolve(values.output);
  const image = await buildImage({
    output,
    names: values.name,
    envoy: values.envoy ?? (await findEnvoy()),
    withoutCodeCache: values["without-code-cache"],
    epochSeconds: Number(epoch),
  });
  const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  for (const { createdBy, size } of image.layers) console.log(`${mebibytes(size).padStart(10)}  ${createdBy}`);
  console.log(`${mebibytes(image.compressedBytes).padStart(10)}  ${image.platform} ${image.digest}`);
  console.log(`${image.archive}\n${join(output, "oci")}\n${join(output, "sbom.spdx.json")}`);
  return 0;
}

function parseWords(words: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        output: { type: "string", default: join(ROOT, "out/image") },
        name: { type: "string", multiple: true, default: [DEFAULT_NAME] },
        envoy: { type: "string" },
        "without-code-cache": { type: "boolean", default: false },
      },
    });
    return values;
  } catch (failure) {
    console.error(`${(failure as Error).message}\n${USAGE}`);
    return undefined;
  }
}

/** The one that `proxy` would run here. */
async function findEnvoy(): Promise<string> {
  const { stdout, code, output } = await runProgram(join(ROOT, "bin/pilot-agent"), ["envoy", "path"]);
  if (code !== 0) throw new Error(`no Envoy for the image (--envoy PATH names one): ${output.trim()}`);
  return stdout.trim();
}
