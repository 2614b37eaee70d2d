import { unlink } from "node:fs/promises";
import { posix } from "node:path";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { makeProxyDirectory, type ProxyOwner, writeProxyFile } from "../files/proxy-file.ts";
import { fileErrorText, isMissingFile, readTextLimited } from "../files/read-file.ts";
import { BootstrapError } from "./bootstrap-error.ts";
import { type BootstrapRenderer, type GeneratedBootstrap, generateBootstrap } from "./core/generate-bootstrap.ts";
import { buildGrpcBootstrap } from "./core/grpc-bootstrap.ts";
import { buildNodeDescriptor, type NodeDescriptor } from "./core/node-descriptor.ts";
import type { BootstrapInputs } from "./inputs.ts";

export interface WriteOptions {
  readonly log: Logger;
  /** The user Envoy runs as, when it is not the agent's own. */
  readonly owner?: ProxyOwner | undefined;
  /** Hot restarts have one file per epoch in early generations. */
  readonly epoch?: number;
  /** The template that an image brings along. */
  readonly imageTemplate?: string;
  /** SHA-256 of templates that make the built-in document; those of Istio's images without. */
  readonly stockTemplates?: ReadonlySet<string>;
}

const IMAGE_TEMPLATE = "./var/lib/istio/envoy/envoy_bootstrap_tmpl.json";

/** What Envoy is started with. */
export interface BootstrapFile {
  readonly path: string;
  /** False for the user's own file, which is used as it is and never deleted. */
  readonly generated: boolean;
  readonly node: NodeDescriptor;
  /** Deletes a generated file, once; a failure is a warning. */
  remove(): Promise<void>;
}

/**
 * Makes Envoy's bootstrap: the user's own file when ProxyConfig names one, else a document written to `configPath`, from a template
 * when ISTIO_BOOTSTRAP or `proxyBootstrapTemplatePath` names one, or the image has one that is not a stock one. Rejects with `BootstrapError`; a failed rendering leaves the file of
 * an earlier start as it was.
 */
export async function writeBootstrap(inputs: BootstrapInputs, options: WriteOptions): Promise<BootstrapFile> {
  const custom = inputs.proxyConfig.customConfigFile;
  if (!custom) return writeGeneratedBootstrap(inputs, options);
  const node = describeNode(inputs, options.log);
  return { path: custom, generated: false, node, remove: () => Promise.resolve() };
}

/** As `writeBootstrap`, also with a `customConfigFile`. */
export async function writeGeneratedBootstrap(inputs: BootstrapInputs, options: WriteOptions): Promise<BootstrapFile> {
  const { log, owner } = options;
  const node = describeNode(inputs, log);
  const templatePath = inputs.env.ISTIO_BOOTSTRAP || inputs.proxyConfig.proxyBootstrapTemplatePath || "";
  const extension = /\.yaml(\.tmpl)?$/.test(templatePath) ? "yaml" : "json";
  const name = inputs.rules.bootstrapFileName(options.epoch ?? 0, extension);
  const path = posix.join(inputs.proxyConfig.configPath ?? "", name);
  await prefixed("failed to generate bootstrap config", async () => {
    const render = templatePath === "" ? undefined : await readTemplate(templatePath);
    const custom = templatePath === "" ? await fromImageTemplate(inputs, node, options) : undefined;
    const { text, secretFiles, warnings } = custom ?? generateBootstrap(inputs, node, render);
    for (const warning of warnings) log.warn(warning);
    // Applications reach the sockets in this directory; what is private in it has a private mode of its own.
    await makeProxyDirectory(posix.dirname(path), { access: "shared", owner });
    for (const file of secretFiles) await writeFile(file.path, file.content, { access: "private", owner });
    await writeFile(path, text, { access: "private", owner });
  });
  let removed: Promise<void> | undefined;
  const remove = () => {
    removed ??= removeFile(path, log);
    return removed;
  };
  return { path, generated: true, node, remove };
}

/** Writes the proxyless gRPC bootstrap, which application containers read. It stays at exit. */
export async function writeGrpcBootstrap(
  inputs: BootstrapInputs,
  target: { readonly path: string; readonly outputCerts: string },
  options: WriteOptions,
): Promise<void> {
  await prefixed("failed generating gRPC XDS bootstrap", async () => {
    const node = buildNodeDescriptor(inputs);
    const text = buildGrpcBootstrap(inputs, node, target.outputCerts);
    await makeProxyDirectory(posix.dirname(target.path), { access: "shared", owner: options.owner });
    await writeFile(target.path, text, { access: "shared", owner: options.owner });
  });
}

/**
 * The value of Envoy's `--config-yaml`: the file of ISTIO_BOOTSTRAP_OVERRIDE, read when Envoy is started. Undefined without one, and,
 * with a warning, when it cannot be used.
 */
export async function readBootstrapOverride(
  inputs: Pick<BootstrapInputs, "env" | "rules">,
  log: Logger,
): Promise<string | undefined> {
  const path = inputs.env.ISTIO_BOOTSTRAP_OVERRIDE;
  if (!path) return undefined;
  let text: string;
  try {
    text = await readTextLimited(path);
  } catch (failure) {
    log.warn(`Failed to read bootstrap override: failed to read file: ${path}, ${fileErrorText(path, failure)}`);
    return undefined;
  }
  if (inputs.rules.rawOverride) return text;
  try {
    // Few pods have one, and the YAML parser behind it is a sixth of the agent's code.
    const { convertBootstrapOverride } = await import("./core/bootstrap-override.ts");
    return convertBootstrapOverride(text, inputs.env.HOST_IP ?? "");
  } catch (failure) {
    const reason = errorMessage(failure).replace(/^(?:yaml: )?/, "yaml: ");
    log.warn(`Failed to read bootstrap override: failed to convert to JSON: ${path}, ${reason}`);
    return undefined;
  }
}

/** A full disk is reported by the kernel without a name. */
async function writeFile(...[path, text, rule]: Parameters<typeof writeProxyFile>): Promise<void> {
  try {
    await writeProxyFile(path, text, rule);
  } catch (cause) {
    throw new BootstrapError("write-failed", `cannot write ${path}: ${errorMessage(cause)}`, { cause });
  }
}

function describeNode(inputs: BootstrapInputs, log: Logger): NodeDescriptor {
  try {
    const node = buildNodeDescriptor(inputs);
    for (const warning of node.warnings) log.warn(warning);
    return node;
  } catch (failure) {
    throw wrapped("failed to generate bootstrap metadata", failure);
  }
}

async function readTemplate(path: string): Promise<BootstrapRenderer> {
  try {
    const text = await readTextLimited(path);
    const { templateRenderer } = await import("./core/template-renderer.ts");
    return templateRenderer(text);
  } catch (failure) {
    throw new BootstrapError("unreadable-template", fileErrorText(path, failure), { cause: failure });
  }
}

/** The document by the image's template, when it has one that is not a stock one. */
async function fromImageTemplate(
  inputs: BootstrapInputs,
  node: NodeDescriptor,
  { log, imageTemplate: path = IMAGE_TEMPLATE, stockTemplates }: WriteOptions,
): Promise<GeneratedBootstrap | undefined> {
  const template = await readTextLimited(path).catch((failure: unknown) => {
    if (!isMissingFile(failure))
      log.warn(`the image's bootstrap template is not used: ${fileErrorText(path, failure)}`);
  });
  if (template === undefined) return undefined;
  const { renderImageTemplate } = await import("./image-template.ts");
  return renderImageTemplate({ path, text: template }, inputs, node, log, stockTemplates);
}

async function removeFile(path: string, log: Logger): Promise<void> {
  try {
    await unlink(path);
  } catch (failure) {
    log.warn(`Failed to delete config file ${path}: ${errorMessage(failure)}`);
  }
}

async function prefixed(prefix: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (failure) {
    throw wrapped(prefix, failure);
  }
}

function wrapped(prefix: string, failure: unknown): BootstrapError {
  const code = failure instanceof BootstrapError ? failure.code : "write-failed";
  return new BootstrapError(code, `${prefix}: ${errorMessage(failure)}`, { cause: failure });
}
