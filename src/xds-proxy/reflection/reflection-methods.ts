import { defineMethod, type Implementation, implement, rawCodec, statusNumber } from "../../grpc/index.ts";
import { bytes, message, nested, repeated, string, uint32 } from "../../protobuf/wire/message.ts";
import { WireReader } from "../../protobuf/wire/wire-reader.ts";
import { WireWriter } from "../../protobuf/wire/wire-writer.ts";
import { ADS_SERVICE } from "../../xds/methods.ts";
import type { ProtoFile } from "../core/file-descriptors.ts";

const errorResponse = message({ errorCode: uint32(1), errorMessage: string(2) });
const serviceResponse = message({ name: string(1) });
const listServices = message({ service: repeated(1, serviceResponse) });
const extensionRequest = message({ containingType: string(1), extensionNumber: uint32(2) });

const request = message({
  host: string(1),
  fileByFilename: string(3),
  fileContainingSymbol: string(4),
  fileContainingExtension: nested(5, extensionRequest),
  allExtensionNumbersOfType: string(6),
  listServices: string(7),
});

const response = message({
  validHost: string(1),
  originalRequest: bytes(2),
  fileDescriptors: bytes(4),
  listServices: nested(6, listServices),
  errorResponse: nested(7, errorResponse),
});

const LIST_SERVICES = 7;

/** What the agent's sockets offer. */
export const REFLECTED_SERVICES = [
  ADS_SERVICE,
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
];

/** The aggregated discovery service, for `reflectionMethods`. */
export async function readAdsFiles(): Promise<readonly ProtoFile[]> {
  return (await import("../core/ads-descriptors.ts")).ADS_FILES;
}

/** gRPC server reflection, in both versions that tools use. The files are built at the first request: few agents ever get one. */
export function reflectionMethods(
  readFiles: () => Promise<readonly ProtoFile[]>,
  services: readonly string[],
): Implementation[] {
  return ["v1", "v1alpha"].map((version) =>
    implement(
      defineMethod({
        path: `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
        kind: "bidi",
        request: rawCodec,
        response: rawCodec,
      }),
      async (requests, call) => {
        const files = await readFiles();
        for await (const raw of requests) {
          const asked = Buffer.from(raw);
          await call.write(response.encode({ originalRequest: asked, ...answer(asked, files, services) }));
        }
      },
    ),
  );
}

function answer(raw: Buffer, files: readonly ProtoFile[], services: readonly string[]) {
  const asked = request.decode(raw);
  // The list may be asked for with an empty text, so its presence counts.
  if (hasField(raw, LIST_SERVICES)) {
    return { validHost: asked.host, listServices: { service: services.toSorted().map((name) => ({ name })) } };
  }
  if (asked.fileByFilename !== "") {
    const found = files.find((file) => file.name === asked.fileByFilename);
    return found ? descriptors([found]) : notFound(`File not found: ${asked.fileByFilename}`);
  }
  if (asked.fileContainingSymbol !== "") {
    const symbol = asked.fileContainingSymbol;
    const found = files.find((file) => file.symbols.includes(symbol));
    return found ? descriptors(withImports(found, files)) : notFound(`Symbol not found: ${symbol}`);
  }
  const type = asked.allExtensionNumbersOfType || asked.fileContainingExtension?.containingType || "";
  return notFound(`Extension not found: ${type}`);
}

function hasField(raw: Buffer, wanted: number): boolean {
  const reader = new WireReader(raw);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === wanted) return true;
    reader.skip(wire);
  }
  return false;
}

/** The file itself first; asking for a symbol should not need a second question. */
function withImports(file: ProtoFile, files: readonly ProtoFile[]): ProtoFile[] {
  const all = new Set<ProtoFile>();
  const add = (next: ProtoFile) => {
    for (const name of next.imports) {
      const imported = files.find((each) => each.name === name);
      if (imported !== undefined) add(imported);
    }
    all.add(next);
  };
  add(file);
  return [...all].reverse();
}

function descriptors(files: readonly ProtoFile[]) {
  const writer = new WireWriter();
  for (const { descriptor } of files) writer.bytes(1, descriptor);
  return { fileDescriptors: writer.finish() };
}

function notFound(text: string) {
  return { errorResponse: { errorCode: statusNumber("NOT_FOUND"), errorMessage: text } };
}
