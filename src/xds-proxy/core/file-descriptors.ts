import { bool, message, nested, repeated, repeatedString, string, uint32 } from "../../protobuf/wire/message.ts";

/** A .proto file as reflection sends it: its name, its package's symbols, the files it needs, and its serialized descriptor. */
export interface ProtoFile {
  readonly name: string;
  readonly symbols: readonly string[];
  readonly imports: readonly string[];
  readonly descriptor: Buffer;
}

const fieldDescriptor = message({
  name: string(1),
  number: uint32(3),
  label: uint32(4),
  type: uint32(5),
  typeName: string(6),
});
const mapOptions = message({ mapEntry: bool(7) });
const mapEntry = message({ name: string(1), field: repeated(2, fieldDescriptor), options: nested(7, mapOptions) });
const messageDescriptor = message({
  name: string(1),
  field: repeated(2, fieldDescriptor),
  nestedType: repeated(3, mapEntry),
});
const methodDescriptor = message({
  name: string(1),
  inputType: string(2),
  outputType: string(3),
  clientStreaming: bool(5),
  serverStreaming: bool(6),
});
const serviceDescriptor = message({ name: string(1), method: repeated(2, methodDescriptor) });
const fileDescriptor = message({
  name: string(1),
  package: string(2),
  dependency: repeatedString(3),
  messageType: repeated(4, messageDescriptor),
  service: repeated(6, serviceDescriptor),
  syntax: string(12),
});

const TYPES: Readonly<Record<string, number>> = { bool: 8, string: 9, bytes: 12, int32: 5, int64: 3, double: 1 };
const MESSAGE = 11;

/** Field declarations as a .proto has them: `repeated string resource_names = 3`. Types with a dot are messages, fully named. */
type Declarations = readonly string[];

interface FileSource {
  readonly name: string;
  readonly package: string;
  readonly imports?: readonly string[];
  readonly messages: Readonly<Record<string, Declarations>>;
  /** Bidirectional methods by service: name, request and response. */
  readonly services?: Readonly<Record<string, readonly (readonly [string, string, string])[]>>;
}

export function buildProtoFile(source: FileSource): ProtoFile {
  const { name, package: packageName, imports = [], messages, services = {} } = source;
  const methods = Object.entries(services).flatMap(([service, list]) => list.map(([method]) => `${service}.${method}`));
  return {
    name,
    imports,
    symbols: [...Object.keys(messages), ...Object.keys(services), ...methods].map(
      (symbol) => `${packageName}.${symbol}`,
    ),
    descriptor: fileDescriptor.encode({
      name,
      package: packageName,
      dependency: imports,
      messageType: Object.entries(messages).map(([type, fields]) =>
        describeMessage(`${packageName}.${type}`, type, fields),
      ),
      service: Object.entries(services).map(([service, list]) => ({
        name: service,
        method: list.map(([method, inputType, outputType]) => ({
          name: method,
          inputType: `.${inputType}`,
          outputType: `.${outputType}`,
          clientStreaming: true,
          serverStreaming: true,
        })),
      })),
      syntax: "proto3",
    }),
  };
}

const DECLARATION = /^(repeated |map<string, ?)?([\w.]+)>? (\w+) = (\d+)$/;
const [OPTIONAL, REPEATED] = [1, 3];

function describeMessage(fullName: string, name: string, declarations: Declarations) {
  const entries: { name: string; field: object[]; options: object }[] = [];
  const field = declarations.map((declaration) => {
    const [, prefix, type = "", fieldName = "", number] = DECLARATION.exec(declaration) ?? [];
    if (number === undefined) throw new Error(`not a field declaration: ${declaration}`);
    const described = { name: fieldName, number: Number(number), label: prefix === undefined ? OPTIONAL : REPEATED };
    if (!prefix?.startsWith("map")) return { ...described, ...describeType(type) };
    // A map is a repeated message of its own, named after the field.
    const entry = `${fieldName.replace(/(^|_)(\w)/g, (_, __, letter: string) => letter.toUpperCase())}Entry`;
    entries.push({
      name: entry,
      options: { mapEntry: true },
      field: [
        { name: "key", number: 1, label: OPTIONAL, ...describeType("string") },
        { name: "value", number: 2, label: OPTIONAL, ...describeType(type) },
      ],
    });
    return { ...described, type: MESSAGE, typeName: `.${fullName}.${entry}` };
  });
  return { name, field, nestedType: entries };
}

function describeType(type: string): { type: number; typeName?: string } {
  const scalar = TYPES[type];
  return scalar === undefined ? { type: MESSAGE, typeName: `.${type}` } : { type: scalar };
}
