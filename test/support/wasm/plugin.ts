/** Value types and opcodes of the binary format, as far as the plugin below needs them. */
const I32 = 0x7f;
const UNREACHABLE = 0x00;
const CALL = 0x10;
const DROP = 0x1a;
const I32_CONST = 0x41;
const END = 0x0b;
const RESPONSE_HEADERS = 2;
const KEY_AT = 16;
const VALUE_AT = 128;

/** A Proxy-Wasm plugin (ABI 0.2.1) in a hundred bytes or two: adds one header to each response. */
export function headerPlugin(name: string, value: string): Buffer {
  const addHeader = [
    ...constant(RESPONSE_HEADERS),
    ...[KEY_AT, name.length, VALUE_AT, value.length].flatMap(constant),
    CALL,
    0,
    DROP,
    ...constant(0),
  ];
  return plugin("proxy_on_response_headers", addHeader, [data(KEY_AT, name), data(VALUE_AT, value)]);
}

/** One that crashes at every request. */
export function crashingPlugin(): Buffer {
  return plugin("proxy_on_request_headers", [UNREACHABLE], [data(KEY_AT, "-")]);
}

/** A module whose callback for headers does what the code says. */
function plugin(callback: string, code: readonly number[], contents: readonly number[][]): Buffer {
  return Buffer.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [
      func([I32, I32, I32, I32, I32], [I32]),
      func([], []),
      func([I32, I32, I32], [I32]),
      func([I32], [I32]),
    ]),
    ...section(2, [[...text("env"), ...text("proxy_add_header_map_value"), 0, 0]]),
    ...section(3, [[1], [2], [3]]),
    ...section(5, [[0, 1]]),
    ...section(7, [
      [...text("memory"), 2, 0],
      [...text("proxy_abi_version_0_2_1"), 0, 1],
      [...text(callback), 0, 2],
      [...text("proxy_on_memory_allocate"), 0, 3],
    ]),
    ...section(10, [body([]), body(code), body(constant(4096))]),
    ...section(11, contents),
  ]);
}

function section(id: number, items: readonly number[][]): number[] {
  return [id, ...sized([...unsigned(items.length), ...items.flat()])];
}

function func(parameters: readonly number[], results: readonly number[]): number[] {
  return [0x60, parameters.length, ...parameters, results.length, ...results];
}

function body(code: readonly number[]): number[] {
  return sized([0, ...code, END]);
}

function data(offset: number, content: string): number[] {
  return [0, ...constant(offset), END, ...text(content)];
}

function text(content: string): number[] {
  return sized([...Buffer.from(content)]);
}

function sized(bytes: readonly number[]): number[] {
  return [...unsigned(bytes.length), ...bytes];
}

function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

/** Signed LEB128: a set bit 6 in the last byte would mean a negative number. */
function constant(value: number): number[] {
  const bytes = unsigned(value);
  const last = bytes.at(-1) ?? 0;
  return [I32_CONST, ...(last & 0x40 ? [...bytes.slice(0, -1), last | 0x80, 0] : bytes)];
}
