import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { runProgram } from "../src/process/run-program.ts";
import { type Architecture, parseArchitectures, thisArchitecture } from "./architecture.ts";
import { type BuiltImage, buildImage } from "./build-image.ts";

const USAGE = `npm run image -- [--output DIR] [--name HOST/NAME:TAG ...] [--arch amd64,arm64] [--envoy PATH] [--without-code-cache]`;
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
  const { architectures } = values;
  const own = thisArchitecture();
  const hasOwn = own !== undefined && architectures.includes(own);
  if (values.envoy !== undefined && (!hasOwn || architectures.length > 1)) {
    const allowed = own === undefined ? "" : ` (--arch ${own})`;
    console.error(
      `--envoy ${values.envoy}: only for this machine's architecture alone${allowed}, it is asked for its version`,
    );
    return 2;
  }
  try {
    const image = await buildImage({
      output: resolve(values.output),
      names: values.name,
      architectures,
      envoy: values.envoy ?? (hasOwn ? await findEnvoy() : undefined),
      withoutCodeCache: values["without-code-cache"],
      epochSeconds: Number(epoch),
      progress: (text) => console.error(text),
    });
    printImage(image, resolve(values.output));
    return 0;
  } catch (failure) {
    console.error((failure as Error).message);
    return 1;
  }
}

function printImage({ platforms, digest, archive, sboms }: BuiltImage, output: string): void {
  const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`.padStart(10);
  for (const one of platforms) {
    for (const { createdBy, size } of one.layers) console.log(`${mebibytes(size)}  ${createdBy}`);
    console.log(`${mebibytes(one.compressedBytes)}  ${one.platform} ${one.digest}`);
  }
  if (platforms.length > 1) console.log(`index ${digest}`);
  console.log([archive, join(output, "oci"), ...sboms].join("\n"));
}

function parseWords(words: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        output: { type: "string", default: join(ROOT, "out/image") },
        name: { type: "string", multiple: true, default: [DEFAULT_NAME] },
        arch: { type: "string" },
        envoy: { type: "string" },
        "without-code-cache": { type: "boolean", default: false },
      },
    });
    return { ...values, architectures: chooseArchitectures(values.arch) };
  } catch (failure) {
    console.error(`${(failure as Error).message}\n${USAGE}`);
    return undefined;
  }
}

function chooseArchitectures(text: string | undefined): Architecture[] {
  const own = thisArchitecture();
  if (text !== undefined) return parseArchitectures(text);
  if (own !== undefined) return [own];
  throw new Error(`no image is for ${process.platform}-${process.arch}: --arch says which one to build`);
}

/** The one that `proxy` would run here. */
async function findEnvoy(): Promise<string> {
  const { stdout, code, output } = await runProgram(join(ROOT, "bin/pilot-agent"), ["envoy", "path"]);
  if (code !== 0) throw new Error(`no Envoy for the image (--envoy PATH names one): ${output.trim()}`);
  return stdout.trim();
}
